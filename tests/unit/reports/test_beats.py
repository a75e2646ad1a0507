import pytest

from gvdn.reports.losses import movement
from gvdn.reports.statistics import paired
from gvdn.reports.tables import NOT_RUN, beats, number


def seeds(*values):
    return dict(enumerate(values))


def test_without_a_pair_nothing_was_run():
    assert beats(None, "evasion", usual=5).text == NOT_RUN


def test_one_seed_has_a_difference_and_no_interval():
    entry = beats(paired(seeds(82.0), seeds(80.5)), "evasion", usual=5)
    assert (entry.text, entry.small.split()[0]) == ("+1.5", "evasion")
    assert "n 1, no interval" in entry.small
    assert (entry.marked, entry.best) == (False, False)


@pytest.mark.parametrize(
    ("differences", "marked", "best"),
    [((1.0, 1.1, 1.2), False, True), ((-1.0, -1.1, -1.2), True, False), ((-1.0, 1.0, 0.5), False, False)],
)
def test_a_difference_that_is_surely_above_or_below_zero_is_marked(differences, marked, best):
    entry = beats(paired(seeds(*differences), seeds(0.0, 0.0, 0.0)), "poisoning", usual=3)
    assert (entry.marked, entry.best) == (marked, best)
    assert "poisoning" in entry.small
    assert "p " in entry.small
    assert ", n " not in entry.small
    assert ", n 3" in beats(paired(seeds(*differences), seeds(0.0, 0.0, 0.0)), "poisoning", usual=5).small


@pytest.mark.parametrize(
    ("value", "text"), [(1234.56, "1,234.6"), (-0.04, "0.0"), (-0.06, "−0.1"), (0.0, "0.0"), (99.95, "100.0")]
)
def test_a_number_has_one_digit_a_comma_and_no_minus_before_a_zero(value, text):
    assert number(value) == text


def test_the_movement_is_the_difference_of_the_last_two_tenths_as_a_share_of_the_range():
    assert movement([3.0] * 20) == 0.0
    assert movement([10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]) == pytest.approx(0.1)
    assert movement([0.0] * 16 + [2.0, 4.0, 6.0, 8.0]) == pytest.approx((7.0 - 3.0) / 8.0)
    assert movement([0.0, 4.0, 1.0]) == pytest.approx(3.0 / 4.0)
