import dataclasses

from gvdn.study import Cell, Mode

MODES = (Mode.EVASION, Mode.POISONING_RECOVERED, Mode.RECOVERED, Mode.WITHHELD)


def test_a_key_is_what_it_has_always_been():
    """Literals: a key that changes orphans every record on disk."""
    assert Cell("cora", "gvdn", 0).key(Mode.RECOVERED) == "ebaad30102cc74c7"
    assert Cell("cora", "gcn", 3, settings={"epochs": 5, "hidden": 8}).key(Mode.EVASION) == "a893c3748a6427d8"


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
    assert len({one.key(mode) for one in [base, *others] for mode in Mode}) == 10 * len(Mode)


def test_the_order_of_the_settings_does_not_matter():
    one = Cell("cora", "gcn", 0, settings={"epochs": 5, "hidden": 8})
    other = Cell("cora", "gcn", 0, settings={"hidden": 8, "epochs": 5})
    assert one.key(Mode.EVASION) == other.key(Mode.EVASION)


def test_the_perturbed_graph_has_one_name_for_all_methods_and_modes():
    one, other = Cell("cora", "gcn", 0, "nettack"), Cell("cora", "gvdn", 0, "nettack", settings={"hidden": 8})
    assert one.graph_key() == other.graph_key() != Cell("cora", "gcn", 1, "nettack").graph_key()


def test_only_none_is_no_perturbation():
    assert not Cell("cora", "gcn", 0, "none").is_perturbed
    assert Cell("cora", "gcn", 0).is_perturbed


def test_what_was_asked_makes_the_cell_again():
    cell = Cell("cora", "gcn", 3, perturbation_settings={"rate": 0.05}, settings={"epochs": 5})
    assert Cell(**cell.asked()) == cell
