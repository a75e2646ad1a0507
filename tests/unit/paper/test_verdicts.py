import pytest

from gvdn.paper.verdicts import Gap, NotRun, differences, everywhere, known, mostly
from gvdn.reports.statistics import summarise

UP, UNSURE_UP, UNSURE_DOWN, DOWN = [1.0, 1.1], [-0.1, 0.5], [0.1, -0.5], [-1.0, -1.1]
"""Differences of two seeds: surely above 0, above on average, below on average, surely below."""
ONE_SEED, NONE = [1.0], []


def gaps(*values):
    return [Gap(f"gap {number}", summarise(one)) for number, one in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([UP, UP], True),
        ([UP, UNSURE_UP], True),
        ([UP, UNSURE_DOWN], None),
        ([UP, [0.0, 0.0]], None),
        ([UP, DOWN], False),
        ([UP, ONE_SEED], None),
        ([UP, NONE], None),
        ([DOWN, NONE], False),
    ],
)
def test_everywhere_holds_if_all_means_are_above_zero_and_falls_with_one_interval_below(values, verdict):
    assert everywhere(gaps(*values))[0] is verdict


def test_everywhere_counts_what_is_above_zero_and_names_what_is_not():
    _, numbers = everywhere(gaps(UP, UNSURE_UP, UNSURE_DOWN, NONE))
    assert "above 0 in 2 of 3, with its whole 95 % interval in 1; 1 more comparisons not run" in numbers
    assert "Not above 0: gap 2" in numbers


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([UP, UP, DOWN], True),
        ([UP, DOWN], False),  # half is not most
        ([UP, DOWN, NONE], None),  # the third decides
        ([DOWN, DOWN, NONE], False),  # the third cannot help any more
        ([UP, DOWN, DOWN, NONE], False),  # nor the fourth: it would be half
        ([UP, UP, NONE], True),
        ([UP, UP, ONE_SEED], None),
    ],
)
def test_mostly_holds_above_one_half(values, verdict):
    assert mostly(gaps(*values), "more")[0] is verdict


def test_without_any_difference_nothing_was_run():
    with pytest.raises(NotRun, match="none of its comparisons has a record"):
        differences(gaps(NONE, NONE))


def test_a_single_seed_is_no_known_difference():
    assert known(gaps(UP)[0]).n == 2
    for values in (ONE_SEED, NONE):
        with pytest.raises(NotRun, match="gap 0 has fewer than two seeds with both of its sides"):
            known(gaps(values)[0])
