import pytest
from scipy.stats import rankdata

from gvdn.reports.ranks import mean_ranks, ranks


def test_the_highest_value_has_rank_one():
    assert ranks({"a": 70.0, "b": 90.0, "c": 80.0}) == {"a": 3, "b": 1, "c": 2}


def test_equal_values_share_the_mean_of_their_ranks():
    assert ranks({"a": 90.0, "b": 80.0, "c": 80.0, "d": 80.0, "e": 10.0}) == {"a": 1, "b": 3, "c": 3, "d": 3, "e": 5}
    assert ranks({"a": 1.0, "b": 1.0}) == {"a": 1.5, "b": 1.5}


def test_sums_in_another_order_are_equal():
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert ranks({"a": 0.1 + 0.2 + 0.3, "b": 0.3 + 0.2 + 0.1}) == {"a": 1.5, "b": 1.5}


def test_they_are_those_of_scipy():
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0]
    found = ranks({str(position): value for position, value in enumerate(values)})
    assert list(found.values()) == rankdata([-value for value in values], method="average").tolist()


def test_a_mean_rank_is_over_the_comparisons_that_a_name_is_part_of():
    found = mean_ranks([{"a": 80.0, "b": 90.0, "c": 70.0}, {"a": 60.0, "c": 60.0}, {"a": 10.0}])
    assert {name: (rank.mean, rank.n) for name, rank in found.items()} == {
        "a": (pytest.approx((2 + 1.5 + 1) / 3), 3),
        "b": (1.0, 1),
        "c": (pytest.approx((3 + 1.5) / 2), 2),
    }


def test_of_no_comparison_there_is_no_rank():
    assert mean_ranks([]) == {}
    assert mean_ranks([{}, {}]) == {}
