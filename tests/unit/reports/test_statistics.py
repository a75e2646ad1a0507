import numpy as np
import pytest
import scipy.stats

from gvdn.reports.statistics import paired, sign_flip_p, summarise

VALUES = [81.2, 83.9, 79.4, 82.2, 84.1]


def test_the_interval_is_that_of_scipy():
    found = summarise(VALUES)
    low, high = scipy.stats.t.interval(0.95, 4, np.mean(VALUES), scipy.stats.sem(VALUES))
    assert (found.n, found.mean) == (5, pytest.approx(np.mean(VALUES)))
    assert found.std == pytest.approx(np.std(VALUES, ddof=1))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_one_number_has_no_interval_and_excludes_nothing():
    found = summarise([80.0])
    assert (found.n, found.std, found.low) == (1, None, None)
    assert not found.excludes(10.0)


def test_no_numbers_have_no_summary():
    assert summarise([]) is None


def test_a_value_outside_of_the_interval_is_excluded():
    found = summarise([80.0, 81.0, 82.0])
    assert not found.excludes(82.0)
    assert found.excludes(90.0)
    assert found.above_zero
    assert not found.below_zero


@pytest.mark.parametrize("differences", [[1.0, 2.0, -0.5, 3.0, 1.5], [0.1, -0.2, 0.3], [-1.0, -2.0, -3.0, -4.0]])
def test_the_sign_flip_test_is_that_of_scipy(differences):
    theirs = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(differences) == pytest.approx(theirs.pvalue)


def test_five_seeds_cannot_go_below_one_sixteenth():
    assert sign_flip_p([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 32


def test_all_differences_zero_say_nothing():
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0


def test_pairs_are_made_of_the_seeds_that_both_have():
    found = paired({0: 5.0, 1: 6.0, 2: 9.0}, {1: 4.0, 2: 6.0, 7: 0.0})
    low, high = scipy.stats.ttest_rel([6.0, 9.0], [4.0, 6.0]).confidence_interval(0.95)
    assert found.difference.n == 2
    assert (found.difference.low, found.difference.high) == (pytest.approx(low), pytest.approx(high))
    assert paired({0: 1.0}, {1: 1.0}) is None


@pytest.mark.parametrize(
    ("values", "positive"),
    [([1.0, 1.1, 1.2], True), ([-1.0, -1.1, -1.2], False), ([-1.0, 1.0, 0.5], None), ([1.0], None)],
)
def test_a_sign_is_told_by_an_interval_on_one_side_of_zero(values, positive):
    assert summarise(values).positive is positive
    assert summarise(values).above_zero is (positive is True)
    assert summarise(values).below_zero is (positive is False)
