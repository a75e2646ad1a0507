from made_records import joined_of

from gvdn.reports.comparison import best_mode, paired_tests
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
    table = paired_tests(joined_of(tiny, say), "gvdn", Mode.RECOVERED)
    assert table.title == "gvdn (recovered) minus each other method in its best mode"
    (line,) = table.lines
    assert line.heading == "gcn"
    assert line.entries[0].small.startswith("poisoning\n[")
    assert line.entries[0].text.startswith(("+9", "+10"))
    assert line.entries[1].text == "–"
