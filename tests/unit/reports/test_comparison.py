import pytest
from made_records import joined_of

from gvdn.errors import InvalidInput
from gvdn.reports.comparison import best_mode, difference_tables, differences
from gvdn.study import Mode


def say(cell, mode):
    if cell.method == "gvdn":
        return 0.9 if mode == Mode.RECOVERED else 0.4
    return 0.8 if mode == Mode.POISONING else 0.3


def test_the_best_mode_is_that_with_the_highest_mean(tiny):
    joined = joined_of(tiny, say)
    assert best_mode(joined, "gcn", "citeseer").mode == Mode.POISONING
    assert best_mode(joined, "gcn", "debian") is None


def test_each_other_method_is_compared_in_its_best_mode(tiny):
    (table,) = difference_tables(joined_of(tiny, say))
    assert table.title == "gvdn (recovered) minus each other method in its best mode"
    (line,) = table.lines
    assert line.heading == "gcn"
    assert line.entries[0].small.startswith("poisoning\n[")
    assert line.entries[0].text.startswith(("+9", "+10"))
    assert table.columns == ["citeseer"]  # the only dataset that both were run on


STUDY = """
title = "t"
datasets = ["debian"]
seeds = [0, 1, 2]
reference = "gvdn"
methods = ["gcn", "gvdn"]
perturbations = ["random-connections", { name = "information-sparsity", variant = "links-only" }]
common = { modes = ["evasion", "poisoning", "new", "recovered", "recovered, withheld", "recovered, new"] }
"""


def test_a_reference_is_compared_with_what_others_do_for_the_same_task(written):
    """Stored, withheld and new victims are three tasks; only under the same perturbation are rows compared."""
    points = {"evasion": 0.5, "poisoning": 0.6, "new": 0.7, "recovered, new": 0.75, "recovered": 0.9}
    joined = joined_of(written(STUDY), lambda cell, mode: {"accuracy": points.get(mode, 0.8)})
    found = [
        (one.group, one.ours.row.method, one.ours.mode, one.theirs.row.method, one.theirs.mode)
        for one in differences(joined)
    ]
    groups = ("random-connections", "information-sparsity, variant links-only")
    assert found == [
        (group, "gvdn", mine, "gcn", theirs)
        for group in groups
        for mine, theirs in (
            (Mode.RECOVERED, Mode.RECOVERED),
            (Mode.WITHHELD, Mode.WITHHELD),
            (Mode.RECOVERED_NEW, Mode.RECOVERED_NEW),
        )
    ]
    assert [table.title for table in difference_tables(joined)] == [
        f"gvdn ({mode}) minus each other method in its best mode"
        for mode in ("recovered", "recovered, withheld", "recovered, new")
    ]
    assert [line.group for line in difference_tables(joined)[0].lines] == list(groups)


MANY = """
title = "t"
datasets = ["debian"]
seeds = [0, 1, 2, 3, 4]
methods = ["gvdn", "gcn", "mlp", "rgcn"]
common = { modes = ["evasion"] }
"""


def test_the_comparisons_of_a_table_are_corrected_together(written):
    apart = {"gvdn": 0.0, "gcn": 0.02, "mlp": 0.004, "rgcn": 0.0001}

    def say(cell, mode):
        wobble = (cell.seed - 2) * {"gcn": 0.005, "mlp": 0.005, "rgcn": 0.000001}.get(cell.method, 0.0)
        return {"accuracy": 0.8 - apart[cell.method] - wobble}

    found = differences(joined_of(written(MANY), say))
    single = [one.pair.p for one in found]
    assert [one.theirs.row.method for one in found] == ["gcn", "mlp", "rgcn"]
    assert [one.p for one in found] == pytest.approx([2 * single[0], single[1], 3 * single[2]])
    assert [one.positive for one in found] == [True, None, True]
    assert [one.level for one in found] == [False, False, False]
    (table,) = difference_tables(joined_of(written(MANY), say))
    assert [line.entries[0].best for line in table.lines] == [True, False, True]


def test_methods_that_surely_differ_by_less_than_a_point_are_level(written):
    def say(cell, mode):
        return {"accuracy": 0.8 + 0.001 * (cell.seed - 2) * (cell.method != "gvdn")}

    found = differences(joined_of(written(MANY), say))
    assert [one.level for one in found] == [True] * 3
    assert [one.positive for one in found] == [None] * 3
    (table,) = difference_tables(joined_of(written(MANY), say))
    assert all(line.entries[0].small.endswith(", level") for line in table.lines)


PLAIN = """
title = "t"
datasets = ["debian"]
seeds = [0, 1]
methods = ["gcn", "mlp"]
common = { modes = ["evasion", "poisoning"] }
"""


def test_without_a_reference_the_first_method_is_compared_in_its_best_mode(written):
    def say(cell, mode):
        return {"accuracy": (0.5 if mode == Mode.EVASION else 0.6) - 0.1 * cell.seed * (cell.method == "mlp")}

    joined = joined_of(written(PLAIN), say)
    (one,) = differences(joined)
    assert (one.ours.row.method, one.ours.mode) == ("gcn", "poisoning")
    assert (one.theirs.row.method, one.theirs.mode) == ("mlp", "poisoning")
    assert one.pair.difference.mean == 5.0
    assert difference_tables(joined)[0].title == "gcn (in its best mode) minus each other method in its best mode"


SETTINGS = """
title = "t"
datasets = ["debian"]
seeds = [0, 1]
reference = "same method"

[[row]]
label = "wide"
method = "gcn"
modes = ["evasion"]

[[row]]
method = "mlp"
modes = ["evasion"]

[[row]]
label = "narrow"
method = "gcn"
settings = { hidden = 4 }
modes = ["evasion"]
"""


def test_rows_may_be_compared_with_the_first_of_their_own_method(written):
    joined = joined_of(written(SETTINGS), lambda cell, mode: 0.6 - 0.01 * cell.seed - 0.2 * bool(cell.settings))
    (one,) = differences(joined)
    assert (one.ours.row.label, one.theirs.row.label, one.group) == ("wide", "narrow", "")
    assert one.pair.difference.mean == pytest.approx(20, abs=0.01)
    (table,) = difference_tables(joined)
    assert table.title == "wide (in its best mode) minus each other row of the same method"


def test_a_reference_that_is_no_method_of_the_spec_is_named(written):
    with pytest.raises(InvalidInput, match="one of the methods of the spec, or 'same method', got 'gat'"):
        written(SETTINGS.replace('"same method"', '"gat"'))


def test_a_single_method_has_nothing_to_be_compared_with(written):
    spec = written(
        'title = "t"\ndatasets = ["debian"]\nseeds = [0]\nmethods = ["mlp"]\n[common]\nmodes = ["evasion"]\n'
    )
    assert difference_tables(joined_of(spec, lambda cell, mode: 0.5)) == []
