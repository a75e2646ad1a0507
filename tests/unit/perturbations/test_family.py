"""`perturb` itself: where its settings come from, what it takes, and perturbations of installed packages."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from gvdn.data import DATASETS, load_graph
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, random_split
from gvdn.perturbations import PERTURBATIONS, perturb, replay, save_receipt


@pytest.fixture
def crowd() -> Graph:
    """A thousand nodes without links, whose protocol says that random connections hit nearly all test nodes."""
    protocol = {"random-connections": {"victim_fraction": 0.99, "rate": 0.005}, "nettack": {"victim_fraction": 0.5}}
    features = np.ones((1000, 1), dtype=np.float32)
    return Graph.from_edges([], features, labels=np.arange(1000) % 2, name="crowd", protocol=protocol)


def test_settings_that_are_not_given_are_those_of_the_graphs_protocol(crowd):
    done = perturb(crowd, "rdmPert", np.arange(1000), seed=0)
    assert len(done.victims) == 990
    assert done.receipt.settings == {"victim_fraction": 0.99, "rate": 0.005, "constant_features": True}


def test_a_given_setting_goes_before_the_protocol(crowd):
    done = perturb(crowd, "random-connections", np.arange(1000), seed=0, victim_fraction=0.2)
    assert len(done.victims) == 200
    assert done.receipt.settings["rate"] == 0.005


def test_the_protocol_of_another_perturbation_is_not_read(crowd):
    assert len(perturb(crowd, "information-sparsity", np.arange(1000), seed=0).victims) == 1000


def test_a_graph_of_the_catalogue_carries_its_protocol_and_another_carries_none(barbell):
    graph = load_graph("debian")
    assert graph.protocol == DATASETS["debian"].perturbations
    assert dataclasses.replace(graph, name="mine").subgraph(np.arange(9)).protocol == graph.protocol
    assert barbell.protocol == {}


def test_a_protocol_with_an_unknown_setting_is_a_sentence(crowd):
    wrong = dataclasses.replace(crowd, protocol={"label-noise": {"victim_fraction": 0.1}})
    with pytest.raises(InvalidInput, match="unknown setting 'victim_fraction' of label-noise"):
        perturb(wrong, "label-noise", np.arange(1000), seed=0)


def test_grbcd_has_the_settings_of_the_protocol_for_prbcd(crowd):
    with_protocol = dataclasses.replace(crowd, protocol={"prbcd": {"victim_fraction": 0.3}})
    for kind in ("prbcd", "grbcd"):
        assert PERTURBATIONS[kind].sort_out(with_protocol, {})[0]["victim_fraction"] == 0.3
        assert PERTURBATIONS[kind].sort_out(with_protocol, {"victim_fraction": 0.2})[0]["victim_fraction"] == 0.2
    assert PERTURBATIONS["grbcd"].settings == PERTURBATIONS["prbcd"].settings


@pytest.mark.parametrize("kind", sorted(set(PERTURBATIONS) - {"nettack", "prbcd", "grbcd", "adaptive-prbcd"}))
def test_a_pyg_graph_with_masks_needs_no_split(ring, kind):
    split = random_split(ring, seed=0, train=0.3)
    masks = {f"{part}_mask": np.isin(np.arange(60), getattr(split, part)) for part in ("train", "val", "test")}
    data = dataclasses.replace(ring, name="graph", class_names=()).to_pyg(**masks)
    ours = dataclasses.replace(ring, name="graph", class_names=())
    assert perturb(data, kind, seed=1).graph.hash == perturb(ours, kind, split, seed=1).graph.hash
    with pytest.raises(InvalidInput, match="expected a split of the graph, got none"):
        perturb(ours, kind, seed=1)


@pytest.mark.parametrize(
    ("candidates", "sentence"),
    [
        (np.ones(60, dtype=bool), "expected candidates as positions of nodes, got a boolean mask"),
        (torch.ones(60, dtype=torch.bool), "expected candidates as positions of nodes, got a boolean mask"),
        ([0.0, 1.0], "expected candidates as a list of positions"),
        ([-1], "expected candidates as positions from 0 up, got -1"),
        ([60], "expected candidates among the 60 nodes, got position 60"),
    ],
)
def test_candidates_are_positions(ring, candidates, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        perturb(ring, "random-connections", candidates, seed=0)


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
def test_a_seed_is_a_whole_number(ring, kind):
    with pytest.raises(InvalidInput, match="expected a whole number as seed, got 1.5; give an int"):
        perturb(ring, kind, np.arange(60), seed=1.5)


def test_a_perturbed_graph_and_its_receipt_are_printed_in_a_line(ring):
    done = perturb(ring, "random-connections", np.arange(60), seed=3, rate=0.1)
    line = "'ring' by random-connections, seed 3: 6 victims, 1 perturbators, edges +6 -0)"
    assert (repr(done), repr(done.receipt)) == (f"Perturbed({line}", f"Receipt({line}")


def test_a_receipt_replays_from_its_folder_on_a_networkx_graph(ring, tmp_path):
    done = perturb(ring, "information-sparsity", np.arange(60), seed=3)
    save_receipt(done.receipt, str(tmp_path))
    for receipt in (done.receipt, tmp_path, str(tmp_path)):
        assert replay(ring.to_networkx(), receipt).graph.hash == done.graph.hash


def install(folder: Path, module: str, points: str) -> None:
    """A tiny installed package: one module and the metadata that pip writes."""
    (folder / "tiny.py").write_text(module)
    info = folder / "tiny-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gvdn.perturbations]\n{points}\n")


def python(folder: Path, *lines: str) -> str:
    """What these lines print in a process of its own, which finds the tiny package and this gvdn."""
    import gvdn

    prelude = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(Path(gvdn.__file__).parents[1])!r}]"
    script = "\n".join([prelude, "import gvdn", *lines])
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


TINY = """
import numpy as np
from gvdn.perturbations import Changes, Perturbation, Plan

def plan(graph, candidates, *, seed, share=0.5):
    "A share of the candidates loses all links."
    victims = candidates[: int(len(candidates) * share)]
    gone = np.isin(graph.edges, victims).any(axis=1)
    return Plan(Changes(removed=graph.edges[gone]), victims, victims[:0])

cut = Perturbation("cut-off", plan)
"""


def test_an_installed_package_adds_a_perturbation(tmp_path):
    install(tmp_path, TINY, "cut-off = tiny:cut")
    printed = python(
        tmp_path,
        "print(*gvdn.PERTURBATIONS)",
        "print('tiny' in sys.modules)",
        "graph = gvdn.Graph.from_edges([[0, 1], [1, 2], [2, 3]], [[1.0]] * 4)",
        "print(gvdn.perturb(graph, 'cut-off', [0, 1], seed=0))",
    )
    names, imported, done = printed.splitlines()
    assert names.split()[-1] == "cut-off"
    assert len(names.split()) == len(PERTURBATIONS) + 1
    assert imported == "False"
    assert done == "Perturbed('graph' by cut-off, seed 0: 1 victims, edges +0 -1)"


CATCH = "try:\n    print(gvdn.PERTURBATIONS[{!r}])\nexcept gvdn.InvalidInput as problem:\n    print(problem)"


def test_an_entry_point_that_is_no_perturbation_is_a_sentence(tmp_path):
    install(tmp_path, TINY, "cut-off = tiny:plan")
    printed = python(tmp_path, CATCH.format("cut-off"))
    assert printed.startswith(
        "expected a Perturbation behind the entry point 'cut-off' of gvdn.perturbations, got func"
    )
    assert printed.endswith("build one with gvdn.perturbations.Perturbation(name, plan)")


def test_an_entry_point_with_a_name_that_is_taken_is_a_sentence(tmp_path):
    install(tmp_path, TINY, "nettack = tiny:cut")
    printed = python(tmp_path, CATCH.format("nettack"))
    assert "got 'nettack' (tiny:cut), which is taken; rename its entry point, or uninstall the package" in printed
