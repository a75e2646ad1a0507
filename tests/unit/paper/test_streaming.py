import pytest
from made_records import joined_of

from gvdn.paper import load
from gvdn.paper.streaming import streaming_tables, times_slower

SPEC = load("streaming")
SECONDS = {"graphss": 2.0, "lindt": 3.0, "gvdn": 0.25}


@pytest.fixture
def joined():
    def say(cell, mode):
        return None if cell.dataset == "pubmed" else {"seconds_each": SECONDS[cell.method] + 0.01 * cell.seed}

    return joined_of(SPEC, say)


def lines_of(table):
    return {line.heading: dict(zip(table.columns, line.entries, strict=True)) for line in table.lines}


def test_seconds_stand_beside_the_papers_and_are_not_compared_with_them(joined):
    lines = lines_of(streaming_tables(joined)[0])
    assert (lines["graphss"]["cora"].text, lines["graphss"]["cora"].small) == ("2.02 ± 0.02", "paper 23.66")
    assert not lines["graphss"]["cora"].marked
    assert lines["lindt"]["debian"].small == ""
    assert (lines["gvdn"]["pubmed"].text, lines["gvdn"]["pubmed"].small) == ("–", "paper 10.78")


def test_ratios_stand_beside_those_of_the_paper(joined):
    lines = lines_of(streaming_tables(joined)[1])
    assert list(lines) == ["graphss", "lindt"]
    assert lines["lindt"]["cora"].text == "11.2 ×"  # 3.02 / 0.27
    assert lines["lindt"]["cora"].small == "paper 15.9"  # 32.04 / 2.02
    assert (lines["lindt"]["debian"].text, lines["lindt"]["debian"].small) == ("11.2 ×", "")
    assert (lines["lindt"]["pubmed"].text, lines["lindt"]["pubmed"].small) == ("–", "paper 13.3")


def test_accuracy_and_entropy_are_shown_too(joined):
    assert [table.title for table in streaming_tables(joined)[2:]] == [
        "accuracy in %, streamed",
        "normalised entropy in %, streamed",
    ]


def test_one_seed_gives_no_ratio():
    joined = joined_of(SPEC, lambda cell, mode: {"seconds_each": 1.0} if cell.seed == 0 else None)
    assert times_slower(joined, "graphss", "cora") is None
