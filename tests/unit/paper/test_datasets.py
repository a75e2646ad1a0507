import pytest
from made_records import COUNTS, joined_of

from gvdn.paper import load
from gvdn.paper.datasets import dataset_table

SPEC = load("datasets")


@pytest.fixture
def lines():
    """Counts of Cora with a degree that moves with the split; only Cora, Citeseer and debian were counted."""

    def say(cell, mode):
        counts = {"counts": COUNTS | {"average_degree_test": 4.9 + 0.01 * cell.seed}}
        return counts if cell.dataset in ("cora", "citeseer", "debian") else None

    table = dataset_table(joined_of(SPEC, say))
    return {line.heading: dict(zip(table.columns, line.entries, strict=True)) for line in table.lines}


def test_a_count_that_agrees_is_not_marked_and_has_no_spread(lines):
    entry = lines["cora"]["edges, both directions"]
    assert (entry.text, entry.small, entry.marked) == ("10,556", "paper 10,556", False)
    assert lines["cora"]["edge homophily"].text == "0.8100"


def test_the_papers_edges_stand_beside_both_directions_alone(lines):
    assert (lines["cora"]["edges, once"].text, lines["cora"]["edges, once"].small) == ("5,278", "")


def test_a_count_that_differs_has_the_difference_and_no_mark(lines):
    entry = lines["citeseer"]["edges, both directions"]
    assert (entry.small, entry.marked) == ("paper 9,228, +1,328", False)


def test_the_degree_has_a_spread_over_the_splits_and_is_judged_by_its_interval(lines):
    near, far = lines["cora"]["average degree, test"], lines["citeseer"]["average degree, test"]
    assert (near.text, near.small) == ("4.92 ± 0.02", "paper 4.99, −0.07")
    assert far.small == "paper 3.72, +1.20"


def test_a_graph_of_ours_has_no_paper_and_one_of_theirs_has_no_count(lines):
    assert all(entry.small == "" for entry in lines["debian"].values())
    assert (lines["flickr"]["nodes"].text, lines["flickr"]["nodes"].small) == ("–", "paper 89,250")
    assert lines["flickr-structure"]["nodes"].small == ""
