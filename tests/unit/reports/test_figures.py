from itertools import pairwise

import pytest

from gvdn.reports.figures import _bars
from gvdn.reports.svg import pyplot


@pytest.fixture
def plt():
    plt = pyplot()
    yield plt
    plt.close("all")


def bars(plt, *series):
    """Left and right ends of the bars of all names, from left to right."""
    _, axis = plt.subplots()
    for number, values in enumerate(series):
        _bars(axis, values, "black", number=number, of=len(series))
    return sorted((bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axis.patches)


@pytest.mark.parametrize("names", [1, 2, 5])
def test_the_bars_of_a_group_stand_around_its_position_and_do_not_overlap(plt, names):
    found = bars(plt, *[[(10.0, 1.0), (20.0, 1.0)]] * names)
    assert [height for _, _, height in found] == [10.0] * names + [20.0] * names
    assert all(left < right for left, right, _ in found)
    assert all(right < left for (_, right, _), (left, _, _) in pairwise(found))
    for group in (0, 1):
        mine = found[group * names : (group + 1) * names]
        assert mine[0][0] - group == pytest.approx(group - mine[-1][1])  # as far to the left as to the right
        assert group - 0.5 < mine[0][0]
        assert mine[-1][1] < group + 0.5


def test_a_value_that_is_missing_leaves_the_place_of_its_bar_empty(plt):
    whole, gap = bars(plt, [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]), bars(plt, [(1.0, 0.0), None, (3.0, 0.0)])
    assert gap == [whole[0], whole[2]]


def test_the_whisker_of_a_bar_is_one_standard_deviation(plt):
    _, axis = plt.subplots()
    _bars(axis, [(10.0, 1.5)], "black", number=0, of=1)
    (whisker,) = axis.collections[0].get_segments()
    assert whisker[:, 1].tolist() == [8.5, 11.5]
