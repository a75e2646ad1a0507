import numpy as np
import pytest
import scipy.stats

from gvdn.reports.statistics import holm, is_sure, paired, sign_flip_p, summarise

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


def test_many_seeds_have_no_sign_flip_test_since_it_doubles_with_each():
    found = [paired(dict.fromkeys(range(n), 1.0), dict.fromkeys(range(n), 0.0)) for n in (16, 17, 60)]
    assert [one.sign_flip for one in found] == [2 / 2**16, None, None]


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


# ---- paired tests, equivalence, Holm's correction

ONE_TO_FIVE = {seed: float(seed) for seed in range(1, 6)}
NOTHING = dict.fromkeys(ONE_TO_FIVE, 0.0)


def test_the_paired_t_test_is_that_of_scipy():
    a, b = {0: 5.0, 1: 6.5, 2: 9.0, 3: 4.0}, {0: 4.0, 1: 6.0, 2: 6.0, 3: 4.5}
    both = [*map(list, (a.values(), b.values()))]
    assert paired(a, b).p == pytest.approx(scipy.stats.ttest_rel(*both).pvalue)
    assert paired(b, a).p == pytest.approx(paired(a, b).p)
    assert paired(a, b).p_above(0.0) == pytest.approx(scipy.stats.ttest_rel(*both, alternative="greater").pvalue)
    assert paired(a, b).p_below(0.0) == pytest.approx(scipy.stats.ttest_rel(*both, alternative="less").pvalue)


def test_a_test_of_1_to_5_by_hand():
    """Mean 3, standard error √(2.5 / 5) = 0.7071, t = 4.2426 with 4 degrees of freedom.

    With 4 degrees of freedom F(t) = 1/2 + (3/4) (x - x³/3), x = t / √(t² + 4); here x = 0.904534, F = 0.993382.
    """
    found = paired(ONE_TO_FIVE, NOTHING)
    assert found.p == pytest.approx(2 * 0.006618, abs=2e-6)
    assert found.p_below(4.0) == pytest.approx(0.115, abs=1e-3)  # t = -1.4142: x = 1 / √3, F = 0.115
    assert found.p_below(3.0) == pytest.approx(0.5)
    assert found.p_above(3.0) == pytest.approx(0.5)


def test_equivalence_is_the_larger_of_two_one_sided_tests():
    found = paired({0: 0.2, 1: -0.1, 2: 0.3, 3: 0.0}, dict.fromkeys(range(4), 0.0))
    values = [0.2, -0.1, 0.3, 0.0]
    low = scipy.stats.ttest_1samp(values, -1.0, alternative="greater").pvalue
    high = scipy.stats.ttest_1samp(values, 1.0, alternative="less").pvalue
    assert found.p_level(1.0) == pytest.approx(max(low, high))
    assert low < high == pytest.approx(found.p_level(1.0))


@pytest.mark.parametrize("margin", [0.31, 0.3, 0.25])
def test_equivalence_is_sure_where_the_90_percent_interval_lies_within_the_margin(margin):
    values = [0.2, -0.1, 0.3, 0.0]
    low, high = scipy.stats.t.interval(0.90, 3, np.mean(values), scipy.stats.sem(values))
    found = paired(dict(enumerate(values)), dict.fromkeys(range(4), 0.0))
    assert is_sure(found.p_level(margin)) == (-margin < low and high < margin)


def test_differences_that_are_all_the_same_are_as_sure_as_their_number_and_one_seed_tells_nothing():
    ones, nothing = dict.fromkeys(range(3), 1.0), dict.fromkeys(range(3), 0.0)
    assert paired(ones, nothing).p == 2 / 2**3
    assert paired(dict.fromkeys(range(2), 9.1), nothing).p == 0.5, "two seeds are not sure of anything"
    assert paired(nothing, nothing).p == 1.0
    assert paired(nothing, nothing).p_level(1.0) == 0.0, "the same on every seed"
    assert paired(ones, nothing).p_level(2.0) == 1 / 2**3
    assert paired(ones, nothing).p_level(1.0) == 1.0
    alone = paired({0: 5.0}, {0: 1.0})
    assert (alone.p, alone.p_level(), alone.p_below(9.0)) == (None, None, None)
    assert not is_sure(alone.p)


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_a_comparison_that_was_not_made_does_not_count():
    assert holm([0.02, None, 0.04]) == [0.04, None, 0.04]
    assert holm([None]) == [None]


def test_holm_is_at_least_as_strict_as_no_correction_and_at_most_as_bonferroni():
    values = list(np.random.default_rng(0).uniform(0, 0.1, 20))
    corrected = holm(values)
    assert all(p <= q <= min(1.0, 20 * p) + 1e-12 for p, q in zip(values, corrected, strict=True))
    order = np.argsort(values)
    assert np.all(np.diff(np.array(corrected)[order]) >= 0)
