from gvdn.reports.statistics import Summary, paired
from gvdn.reports.tables import Entry, Line, Table, beats, compared, number, signed, titled

OURS = Summary(5, 80.0, 2.0, 77.5, 82.5)


def test_a_better_paper_value_outside_of_the_interval_is_marked():
    entry = compared(OURS, 83.0, usual=5)
    assert entry == Entry("80.0 ± 2.0", "paper 83.00, −3.0 ▼", marked=True)
    assert compared(OURS, 77.0, usual=5, lower_is_better=True).marked


def test_where_ours_is_better_there_is_no_mark():
    assert compared(OURS, 77.0, usual=5) == Entry("80.0 ± 2.0", "paper 77.00, +3.0")
    assert not compared(OURS, 83.0, usual=5, lower_is_better=True).marked
    assert not compared(OURS, 83.0, usual=5, may_be_marked=False).marked


def test_a_paper_value_inside_of_the_interval_is_not():
    assert compared(OURS, 82.4, usual=5) == Entry("80.0 ± 2.0", "paper 82.40, −2.4")


def test_one_seed_is_said_and_never_marked():
    assert compared(Summary(1, 80.0, None, None, None), 10.0, usual=5) == Entry("80.0", "n 1, paper 10.00, +70.0")


def test_what_was_not_measured_shows_the_paper_alone():
    assert compared(None, 83.0, usual=5, why="failed") == Entry("failed", "paper 83.00")
    assert compared(None, None, usual=5) == Entry("–")


def test_a_paired_difference_shows_its_interval_and_p():
    entry = beats(paired({0: 5.0, 1: 6.0, 2: 5.5}, {0: 1.0, 1: 2.0, 2: 1.0}), "poisoning", usual=3, p=0.01, p_level=1.0)
    assert entry.text == "+4.2"
    assert entry.small == "poisoning\n[+3.4, +4.9]\np 0.01"
    assert entry.best
    assert not entry.marked


def test_zero_has_no_minus():
    assert (number(-0.04), signed(-0.04), signed(-1.26), number(1234.5, 0)) == ("0.0", "+0.0", "−1.3", "1,234")


def test_markdown_has_a_line_for_each_line():
    table = Table("t", ["a"], [Line("x", [Entry("1", "n 1")], "g"), Line("y", [Entry("a|b", best=True)])], note="why")
    assert table.markdown() == "### t\n\n|  | a |\n| --- | ---: |\n| g: x | 1 (n 1) |\n| y | **a\\|b** |\n\nwhy\n"


def test_only_simulated_features_are_said_beside_a_name():
    assert titled("flickr-structure") == "flickr-structure (simulated features)"
    assert [titled(name) for name in ("debian", "my/folder")] == ["debian", "my/folder"]


def test_a_value_of_another_machine_is_shown_and_not_compared():
    assert compared(OURS, 10.0, usual=5, same_machine=False) == Entry("80.0 ± 2.0", "paper 10.00")
