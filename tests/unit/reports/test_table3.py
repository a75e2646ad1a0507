import pytest
from gvdn.experiments.spec import load_spec

from gvdn.reports.joined import join
from gvdn.reports.table3 import compact_table3, paired_tests, table3

from .conftest import measured

SPEC = load_spec("table3")


@pytest.fixture
def joined(tmp_path):
    return join(SPEC, measured(tmp_path, SPEC, lambda c, m: 0.9 if c.method == "gvdn" else 0.8))


def by_name(table):
    return {line.split(" | ")[0].strip("| "): line for line in table.markdown().splitlines()}


def test_the_papers_value_is_shown_where_it_can_mean_the_mode(joined):
    lines = by_name(table3(joined)[0])
    assert "paper 84.01" in lines["gvdn: recovered"]
    assert "paper" not in lines["gvdn: recovered, victims unseen"]
    assert "paper" not in lines["gvdn: afterwards"]
    assert "paper 69.47" in lines["gcn-jaccard: in training"]
    assert "**" in lines["gvdn: recovered"] + lines["gvdn: in training, recovered"] + lines["gvdn: afterwards"]


def test_the_papers_seconds_are_shown_and_not_compared(joined):
    table = table3(joined)[2]
    assert table.title.startswith("seconds")
    assert "3.5 ± 0.0 (paper 21.30)" in by_name(table)["gvdn: recovered"]
    assert not any(entry.marked for line in table.lines for entry in line.entries)


def test_the_paired_tests_say_the_smallest_p(joined):
    assert "p 0.0625" in by_name(paired_tests(joined))["gcn-jaccard"]


def test_the_compact_table_has_a_line_per_method_with_two_modes_at_most(tmp_path):
    points = {"afterwards": 0.4, "in training": 0.7, "recovered": 0.9, "recovered, victims unseen": 0.8}
    say = measured(tmp_path, SPEC, lambda cell, mode: {"accuracy": points.get(mode, 0.99)})
    table = compact_table3(join(SPEC, say))
    lines = by_name(table)
    assert table.columns[:3] == ["how", "snapshot", "cora"]
    assert lines["rgcn"].startswith("| rgcn | afterwards · in training | no | 40.0 · 70.0 (66.32) |")
    assert lines["graphss"].startswith("| graphss | unseen · recovered | no · yes | 80.0 · **90.0** (80.43) |")
    assert lines["gvdn"].startswith("| gvdn | unseen · recovered | no · yes | 80.0 · 90.0 (84.01) |")
    assert lines["gcn-retrained"].startswith("| gcn-retrained | in training | no | 70.0 |")
    assert lines["snapshot"].startswith("| snapshot | afterwards | yes | 40.0 |")
    assert len(table.lines) == 14


def test_the_compact_table_marks_what_is_not_over_all_seeds_and_what_failed(tmp_path):
    def say(cell, mode):
        if cell.method == "prognn":
            return {"error": "OutOfTime"}
        return 0.8 if cell.dataset == "cora" and (cell.seed < 2 or cell.method != "gcn") else None

    table = compact_table3(join(SPEC, measured(tmp_path, SPEC, say)))
    lines = by_name(table)
    assert table.columns[2] == "cora"
    assert lines["gcn"].count("†") == 2
    assert "failed · failed (47.37)" in lines["prognn"]
