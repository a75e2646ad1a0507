import pytest
from made_records import joined_of

from gvdn.paper import load
from gvdn.paper.table3 import compact_table3, table3
from gvdn.reports.statistics import paired
from gvdn.study import Mode

SPEC = load("table3")
BOTH = (("gvdn", Mode.RECOVERED), ("gcn-jaccard", Mode.POISONING))


@pytest.fixture
def joined():
    return joined_of(SPEC, lambda c, m: 0.9 if c.method == "gvdn" else 0.8)


def by_name(table):
    return {line.split(" | ")[0].strip("| "): line for line in table.markdown().splitlines()}


def test_the_papers_value_is_shown_where_it_can_mean_the_mode(joined):
    lines = by_name(table3(joined)[0])
    assert "paper 84.01" in lines["gvdn: recovered"]
    assert "paper" not in lines["gvdn: recovered, withheld"]
    assert "paper" not in lines["gvdn: evasion"]
    assert "paper 69.47" in lines["gcn-jaccard: poisoning"]
    assert "**" in lines["gvdn: recovered"] + lines["gvdn: poisoning, recovered"] + lines["gvdn: evasion"]


def test_the_papers_seconds_are_shown_and_not_compared(joined):
    table = table3(joined)[2]
    assert table.title.startswith("seconds")
    assert "3.5 ± 0.0 (paper 21.30)" in by_name(table)["gvdn: recovered"]
    assert not any(entry.marked for line in table.lines for entry in line.entries)


def test_the_paired_tests_are_corrected_for_all_comparisons_of_the_table(joined):
    (table,) = {one.title: one for one in table3(joined) if one.title.startswith("gvdn (recovered) minus")}.values()
    single = paired(*(joined.find("cora", mode, method=name).values("accuracy") for name, mode in BOTH)).p
    said = next(line for line in table.lines if line.name == "gcn-jaccard").entries[0].small
    assert "poisoning\n[" in said
    assert single < float(said.rpartition("p ")[2]) <= 91 * single * 1.05  # 13 methods on 7 graphs, two digits shown


def test_the_compact_table_has_a_line_per_method_with_its_main_modes():
    points = {
        "evasion": 0.4,
        "poisoning": 0.7,
        "recovered": 0.9,
        "recovered, withheld": 0.8,
        "poisoning, recovered": 0.6,
    }
    table = compact_table3(joined_of(SPEC, lambda cell, mode: {"accuracy": points.get(mode, 0.99)}))
    lines = by_name(table)
    assert table.columns[:3] == ["how", "snapshot", "cora"]
    assert lines["rgcn"].startswith("| rgcn | evasion · poisoning | no | 40.0 · 70.0 (66.32) |")
    assert lines["graphss"].startswith(
        "| graphss | withheld · recovered · poisoning | no · yes · no | 80.0 · **90.0** · 60.0 (80.43) |"
    )
    assert lines["gvdn"].startswith(
        "| gvdn | withheld · recovered · poisoning | no · yes · no | 80.0 · 90.0 · 60.0 (84.01) |"
    )
    assert lines["gcn-retrained"].startswith("| gcn-retrained | poisoning | no | 70.0 |")
    assert lines["snapshot"].startswith("| snapshot | evasion | yes | 40.0 |")
    assert len(table.lines) == 14


def test_the_compact_table_marks_what_is_not_over_all_seeds_and_what_failed():
    def say(cell, mode):
        if cell.method == "prognn":
            return {"error": "OutOfTime"}
        return 0.8 if cell.dataset == "cora" and (cell.seed < 2 or cell.method != "gcn") else None

    table = compact_table3(joined_of(SPEC, say))
    lines = by_name(table)
    assert table.columns[2] == "cora"
    assert lines["gcn"].count("†") == 2
    assert "failed · failed (47.37)" in lines["prognn"]
