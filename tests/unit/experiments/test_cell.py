import dataclasses
import json

from gvdn.experiments.cell import Cell, modes_of
from gvdn.methods.contract import METHODS

PLAIN = ("afterwards", "in training")
KEEPS = ("afterwards", "in training, recovered", "recovered", "recovered, victims unseen")
MEETINGS = {
    "gcn-jaccard": PLAIN,
    "gcn-svd": PLAIN,
    "dropedge": PLAIN,
    "grand": PLAIN,
    "rgcn": PLAIN,
    "prognn": PLAIN,
    "mc-dropout": PLAIN,
    "graphss": KEEPS,
    "lindt": KEEPS,
    "gvdn": KEEPS,
    "gcn": PLAIN,
    "gcn-retrained": ("in training",),
    "mlp": PLAIN,
    "snapshot": ("afterwards",),
}


def test_how_each_method_meets_a_perturbed_graph():
    assert {method: modes_of(method) for method in METHODS} == MEETINGS


# ---- the name of a run


def test_a_key_is_what_it_has_always_been():
    """Literals: a key that moves makes every run on disk a stranger."""
    assert Cell("cora", "gvdn", 0).key("recovered") == "ebaad30102cc74c7"
    assert Cell("cora", "gcn", 3, settings={"epochs": 5, "hidden": 8}).key("afterwards") == "a893c3748a6427d8"


def test_a_key_follows_everything_that_is_asked_for():
    base = Cell("cora", "gvdn", 0)
    others = [
        dataclasses.replace(base, dataset="citeseer"),
        dataclasses.replace(base, method="gcn"),
        dataclasses.replace(base, seed=1),
        dataclasses.replace(base, perturbation="nettack"),
        dataclasses.replace(base, perturbation_settings={"rate": 0.05}),
        dataclasses.replace(base, perturbation_settings={"rate": 0.01}),
        dataclasses.replace(base, settings={"rate": 0.05}),
        dataclasses.replace(base, settings={"guard": False}),
        dataclasses.replace(base, settings={"guard": True}),
    ]
    named = {one.key(mode) for one in [base, *others] for mode in KEEPS}
    assert len(named) == 10 * 4


def test_the_order_of_the_settings_says_nothing():
    one = Cell("cora", "gcn", 0, settings={"epochs": 5, "hidden": 8})
    other = Cell("cora", "gcn", 0, settings={"hidden": 8, "epochs": 5})
    assert one.key("afterwards") == other.key("afterwards")


def test_the_heading_makes_the_cell_again():
    cell = Cell("cora", "gcn", 3, perturbation_settings={"rate": 0.05}, settings={"epochs": 5})
    heading = json.loads(json.dumps(cell.heading("afterwards")))
    assert heading["mode"] == "afterwards"
    assert Cell(**heading["cell"]).key("afterwards") == heading["key"] == cell.key("afterwards")
