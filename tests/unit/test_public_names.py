"""What `import gvdn` offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import gvdn

METHODS = [
    "GVDN",
    "GCNJaccard",
    "GCNSVD",
    "DropEdge",
    "GRAND",
    "RGCN",
    "GPRGAE",
    "GTrans",
    "AdversarialTraining",
    "SoftMedianGDC",
    "ElasticGNN",
    "AirGNN",
    "GNNGuard",
    "ProGNN",
    "MCDropout",
    "GraphSS",
    "LInDT",
    "GNN",
    "GCNRetrained",
    "MLP",
    "Snapshot",
]
OTHERS = [
    "METHODS",
    "PERTURBATIONS",
    "DATASETS",
    "make_method",
    "load_model",
    "load_graph",
    "Graph",
    "Split",
    "random_split",
    "perturb",
    "replay",
    "Perturbed",
    "Receipt",
    "load_receipt",
    "save_receipt",
    "Trusted",
    "TrustedInTurn",
    "WhiteBox",
    "GvdnError",
    "InvalidInput",
    "__version__",
]


def test_dir_lists_the_public_names_and_nothing_else():
    assert dir(gvdn) == sorted([*METHODS, *OTHERS]) == sorted(gvdn.__all__)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_exported_by_its_class_name(name):
    assert getattr(gvdn, name).__name__ == name
    assert getattr(gvdn, name) in gvdn.METHODS.values()


@pytest.mark.parametrize("name", OTHERS)
def test_every_public_name_is_there(name):
    assert getattr(gvdn, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gvdn' has no attribute 'Gvdn'"):
        _ = gvdn.Gvdn


@pytest.mark.parametrize(
    "line",
    [
        "dir(gvdn)",
        "list(gvdn.DATASETS)",
        "gvdn.load_graph('debian')",
        "list(gvdn.PERTURBATIONS)",
        "gvdn.perturb(gvdn.Graph.from_edges([[0, 1]], [[1.0]] * 2), 'information-sparsity', [0], seed=0)",
    ],
)
def test_no_torch_is_imported_for(line):
    script = f"import sys; import gvdn; {line}; print('torch' in sys.modules)"
    source = str(Path(gvdn.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
