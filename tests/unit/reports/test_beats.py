import pytest

from gvdn.reports.losses import movement
from gvdn.reports.statistics import paired
from gvdn.reports.tables import NOT_RUN, beats, number


def seeds(*values):
    return dict(enumerate(values))


def test_without_a_pair_nothing_was_run():
    assert beats(None, "evasion", usual=5, p=None, p_level=None).text == NOT_RUN


def test_one_seed_has_a_difference_and_no_interval():
    entry = beats(paired(seeds(82.0), seeds(80.5)), "evasion", usual=5, p=None, p_level=None)
    assert (entry.text, entry.small.split()[0]) == ("+1.5", "evasion")
    assert "n 1, no interval" in entry.small
    assert (entry.marked, entry.best) == (False, False)


@pytest.mark.parametrize(
    ("sign", "p", "marked", "best"),
    [(1, 0.05, False, True), (-1, 0.05, True, False), (1, 0.051, False, False), (-1, 0.2, False, False)],
)
def test_a_difference_that_is_sure_after_the_correction_is_marked(sign, p, marked, best):
    pair = paired(seeds(*(sign * value for value in (1.0, 1.1, 1.2))), seeds(0.0, 0.0, 0.0))
    entry = beats(pair, "poisoning", usual=3, p=p, p_level=1.0)
    assert (entry.marked, entry.best) == (marked, best)
    assert entry.small.startswith("poisoning\n[")
    assert entry.small.endswith(f"p {p:.2g}")
    assert ", n 3" in beats(pair, "poisoning", usual=5, p=p, p_level=1.0).small


@pytest.mark.parametrize(("p", "p_level", "said"), [(0.3, 0.04, True), (0.3, 0.06, False), (0.01, 0.01, False)])
def test_level_is_said_where_equivalence_is_sure_and_a_difference_is_not(p, p_level, said):
    pair = paired(seeds(0.1, 0.2, -0.1), seeds(0.0, 0.0, 0.0))
    assert beats(pair, "evasion", usual=3, p=p, p_level=p_level).small.endswith(", level") is said


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
