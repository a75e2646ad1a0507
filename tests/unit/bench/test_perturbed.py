"""The graph that an attack made is the same for every method."""

from pathlib import Path

import numpy as np
import pytest

import gvdn
from gvdn.bench import measure as measuring
from gvdn.bench.experiment import Experiment
from gvdn.bench.modes import _supports
from gvdn.bench.perturbed import PerturbedGraph, _made_once, is_attack
from gvdn.errors import InvalidInput
from gvdn.methods import METHODS
from gvdn.perturbations.receipt import no_pairs, no_positions
from gvdn.study import Cell, Mode


def test_what_is_there_is_taken_and_not_made_again(ring, tmp_path):
    made = PerturbedGraph(ring, np.array([3, 5]), np.array([7]), np.array([[3, 7], [5, 7]]))
    first = _made_once(tmp_path / "one", lambda: made)
    second = _made_once(tmp_path / "one", lambda: pytest.fail("made again"))
    for graph, scored, perturbators, added in (first, second):
        assert graph.hash == ring.hash
        assert scored.tolist() == [3, 5]
        assert perturbators.tolist() == [7]
        assert added.tolist() == [[3, 7], [5, 7]]


def scored_on(graph, node: int) -> PerturbedGraph:
    return PerturbedGraph(graph, np.array([node]), no_positions(), no_pairs())


def test_of_two_that_make_it_at_once_the_first_counts(ring, tmp_path):
    def overtaken() -> PerturbedGraph:
        _made_once(tmp_path / "one", lambda: scored_on(ring, 1))
        return scored_on(ring, 2)

    assert _made_once(tmp_path / "one", overtaken).scored.tolist() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_folder_that_cannot_be_made_is_an_error(ring, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="is no folder that may be written into"):
        _made_once(tmp_path / "file" / "one", lambda: scored_on(ring, 1))


@pytest.fixture
def attacked(tmp_path) -> Path:
    (tmp_path / "attacked").mkdir()
    return tmp_path / "attacked"


def test_every_method_is_asked_on_the_graph_that_was_made_for_the_first(dataset, attacked):
    small, given = {"hidden": 4, "epochs": 3}, {"link_flips": 1, "feature_flips": 0, "degree_test": False}
    first = Experiment(Cell(dataset, "mlp", 0, "nettack", given, small), "cpu", attacked)
    assert len(list(attacked.iterdir())) == 1
    second = Experiment(Cell(dataset, "gcn", 0, "nettack", given, small), "cpu", attacked)
    assert len(list(attacked.iterdir())) == 1
    assert second.perturbed.hash == first.perturbed.hash != first.clean.hash
    Experiment(Cell(dataset, "gcn", 1, "nettack", given, small), "cpu", attacked)
    assert len(list(attacked.iterdir())) == 2


def test_what_is_kept_is_kept_for_one_state_of_the_code(dataset, attacked, monkeypatch):
    given = {"link_flips": 1, "feature_flips": 0, "degree_test": False}
    cell = Cell(dataset, "mlp", 0, "nettack", given, {"hidden": 4, "epochs": 3})
    for state in ("one", "one", "another"):
        monkeypatch.setattr(measuring, "commit", lambda state=state: state)
        list(measuring.measure(cell, (Mode.EVASION,), attacked=attacked))
    assert sorted(folder.name for folder in attacked.iterdir()) == [
        f"{gvdn.__version__}-another",
        f"{gvdn.__version__}-one",
    ]


def test_an_attacked_graph_keeps_what_was_done_to_it(dataset, attacked):
    given = {"link_flips": 2, "feature_flips": 0, "degree_test": False, "influencers": 3}
    cell = Cell(dataset, "mlp", 0, "nettack", given, {"hidden": 4, "epochs": 3})
    made, read = (Experiment(cell, "cpu", attacked) for _ in range(2))
    there = {tuple(edge) for edge in made.perturbed.edges.tolist()} - {
        tuple(edge) for edge in made.clean.edges.tolist()
    }
    assert {tuple(edge) for edge in made.added.tolist()} == there
    assert len(made.perturbators)
    assert read.perturbators.tolist() == made.perturbators.tolist()
    assert read.added.tolist() == made.added.tolist()


def test_what_is_no_attack_is_not_kept(dataset, attacked):
    Experiment(Cell(dataset, "mlp", 0, settings={"hidden": 4, "epochs": 3}), "cpu", attacked)
    assert not list(attacked.iterdir())


def test_an_attack_that_is_stopped_leaves_nothing(attacked):
    def stopped() -> PerturbedGraph:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _made_once(attacked / "one", stopped)
    assert not list(attacked.iterdir())


def test_an_attack_is_a_perturbation_through_a_fitted_model():
    from gvdn.perturbations import PERTURBATIONS

    assert {name for name in PERTURBATIONS if is_attack(name)} == {
        "adaptive-prbcd",
        "dice",
        "grbcd",
        "metattack",
        "nettack",
        "prbcd",
    }


# ---- poisoning and evasion under every attack

FEW = {"hidden": 4, "epochs": 3}
SETTINGS: dict[str, dict[str, object]] = {
    "prbcd": {"target": "gcn", "epochs": 4, "block_size": 300},
    "grbcd": {"target": "rgcn", "epochs": 4, "block_size": 300},
    "adaptive-prbcd": {"target": "gcn", "epochs": 4, "block_size": 300, "rounds": 2},
    "metattack": {"inner_steps": 5},
    "dice": {},
    "wrong-links": {"links": 2},
}
METHOD_SETTINGS: dict[str, dict[str, object]] = {
    "gpr-gae": {"link_steps": 5, "width": 4, "pair_width": 4, "filters": 1},
    "graphss": {"sweeps": 3, "warm_up": 1, "retrain_epochs": 2},
    "lindt": {"sweeps": 3, "warm_up": 1, "retrain_epochs": 2},
    "gcn-svd": {"rank": 3},
    "mc-dropout": {"samples": 2},
    "prognn": {"rank": 3},
}


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("mode", [Mode.POISONING, Mode.EVASION])
def test_every_method_is_measured_under_every_attack_on_links_in_the_modes_that_it_declares(
    dataset, attacked, kind, mode
):
    words = [word for word in METHODS if _supports(METHODS[word].capabilities, mode)]
    assert len(words) == {Mode.POISONING: 18, Mode.EVASION: 20}[mode]
    graphs = set()
    for word in words:
        cell = Cell(dataset, word, 0, kind, SETTINGS[kind], FEW | METHOD_SETTINGS.get(word, {}))
        (record,) = measuring.measure(cell, (mode,), attacked=attacked)
        assert record.error is None
        assert 0 <= record.scores.accuracy <= 1
        graphs.add(record.graph)
    assert len(graphs) == 1, "all methods met the same graph"


def test_an_attack_is_aimed_at_the_method_that_is_named(dataset, attacked):
    def made(**given) -> str:
        settings = {"epochs": 4, "block_size": 300} | given
        return Experiment(Cell(dataset, "mlp", 0, "grbcd", settings, FEW), "cpu", attacked).perturbed.hash

    assert len({made(target=target) for target in ("gcn", "rgcn", "grand")}) == 3
    with pytest.raises(InvalidInput, match="got snapshot: its answers are stored ones"):
        made(target="snapshot")
    assert made(target="gcn") != made(target="gcn", through_trust=True)
