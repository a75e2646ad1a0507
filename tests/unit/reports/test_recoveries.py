import pytest
from made_records import joined_of

from gvdn.methods.gvdn import choice
from gvdn.reports.page import section
from gvdn.reports.recoveries import WAYS, choices_table, links_table

SPEC = """
title = "Trust"
datasets = ["citeseer", "debian"]
seeds = [0, 1, 2]

[[row]]
group = "wrong links"
method = "gvdn"
perturbation = "wrong-links"
modes = ["new", "recovered, new"]

[[row]]
method = "gvdn"
perturbation = "natural-churn"
datasets = ["debian"]
modes = ["recovered, new"]
"""


def said(cell, mode):
    if mode != "recovered, new":
        return {}
    chosen = "as it is" if cell.perturbation == "natural-churn" else WAYS[cell.seed % 2]
    links = {"auc": 0.9 + cell.seed / 100, "ece": 0.02}
    return {"recovery": {"chosen": chosen}, "links": links if cell.dataset == "debian" else None}


@pytest.fixture
def joined(written):
    return joined_of(written(SPEC), said)


def test_the_ways_are_those_that_a_recovery_chooses_from():
    assert WAYS == choice.WAYS


def test_ways_are_counted_over_graphs_and_seeds(joined):
    table = choices_table(joined)
    assert table.columns == list(WAYS)
    assert {line.group: [entry.text for entry in line.entries] for line in table.lines} == {
        "wrong links": ["4", "2", "0", "0"],
        "gvdn": ["0", "0", "3", "0"],
    }
    assert [line.heading for line in table.lines] == ["recovered, new"] * 2


def test_a_way_that_only_poisoning_has_is_counted_too(written):
    chosen = "fitted again, judged in turn"
    table = choices_table(joined_of(written(SPEC), lambda cell, mode: {"recovery": {"chosen": chosen}}))
    assert table.columns == [*WAYS, chosen]
    assert {line.entries[-1].text for line in table.lines} == {"6", "3"}


def test_links_have_the_mean_area_and_the_calibration_error_in_per_cent(joined):
    wrong, churn = links_table(joined).lines
    assert [entry.markdown() for entry in wrong.entries] == ["–", "0.91 (2.0)"]
    assert [entry.markdown() for entry in churn.entries] == ["–", "0.91 (2.0)"]


def test_a_page_has_both_tables_where_records_have_them(joined, written):
    assert [table.title for table in section(joined).tables][-2:] == [
        choices_table(joined).title,
        links_table(joined).title,
    ]
    without = joined_of(written(SPEC, "other"), lambda cell, mode: {})
    assert choices_table(joined).title not in [table.title for table in section(without).tables]
