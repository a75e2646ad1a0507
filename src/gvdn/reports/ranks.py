"""Ranks of several methods in several comparisons, as tables over many datasets print them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

DIGITS = 9
"""Means that agree to so many digits are equal: sums of floats differ beyond that by the order of their terms."""


@dataclass(frozen=True)
class MeanRank:
    """The mean of a method's ranks, and in how many comparisons it has one."""

    mean: float
    n: int


def ranks(values: Mapping[str, float]) -> dict[str, float]:
    """The rank of each name, 1 for the highest value; equal values share the mean of the ranks that they take.

    >>> ranks({"a": 80.0, "b": 90.0, "c": 80.0, "d": 70.0})
    {'a': 2.5, 'b': 1.0, 'c': 2.5, 'd': 4.0}
    """
    compared = {name: round(value, DIGITS) for name, value in values.items()}
    found = {}
    for name, value in compared.items():
        above = sum(other > value for other in compared.values())
        equal = sum(other == value for other in compared.values())
        found[name] = above + (equal + 1) / 2
    return found


def mean_ranks(comparisons: Iterable[Mapping[str, float]]) -> dict[str, MeanRank]:
    """The mean rank of each name over the comparisons that it is part of; in each, those that have a value are ranked.

    >>> mean_ranks([{"a": 80.0, "b": 90.0}, {"a": 60.0}])["a"]
    MeanRank(mean=1.5, n=2)
    """
    found: dict[str, list[float]] = {}
    for values in comparisons:
        for name, rank in ranks(values).items():
            found.setdefault(name, []).append(rank)
    return {name: MeanRank(fmean(mine), len(mine)) for name, mine in found.items()}
