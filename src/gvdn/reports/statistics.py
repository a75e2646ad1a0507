"""Statistics over seeds: means with Student's t intervals, paired tests on the same seeds, and their correction.

The paired differences of n seeds have the mean d, the standard deviation s and the standard error e = s / √n; F is the
distribution function of Student's t with n - 1 degrees of freedom. Where all differences are the same, as it happens
with few seeds and few victims, e is 0 and says nothing. The one-sided p-value is then that of the sign test: 2^-n, the
chance that n differences all lie on one side of the bound, or 1 where they do not. Where all are 0, the two gave the
same on every seed, and it is 0 for every bound above: they are level.

Paired t test, two-sided: p = 2 F(-|d| / e). One-sided, that the mean lies below a bound b: p = F((d - b) / e).

Equivalence within a margin m by two one-sided tests (Schuirmann, J. Pharmacokin. Biopharm. 1987):
p = max(F((d - m) / e), F(-(d + m) / e)). It is at most 0.05 where the 90 % interval of d lies between -m and m.

Holm's correction (Scand. J. Statist. 1979) of the p-values p_1 <= ... <= p_k of k comparisons:
q_i = max over j <= i of min(1, (k - j + 1) p_j). All with q <= 0.05 can be told together; the chance that one or more
of them is told wrongly is at most 5 %, however the comparisons depend on each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from statistics import fmean, stdev
from typing import TypeVar

T = TypeVar("T", bound="Tested")

LEVEL = 0.95

ALPHA = 1 - LEVEL
"""A p-value at most this large is said to be sure."""

TINY = 1e-9
"""A standard error below this is that of differences that are all the same."""

MOST_FLIPPED = 16
"""Seeds: the sign-flip test goes through 2^n patterns."""

MARGIN = 1.0
"""Points of accuracy: two methods are level where the mean difference surely lies within them."""


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and Student's t interval; a single number has neither deviation nor interval."""

    n: int
    mean: float
    std: float | None
    low: float | None
    high: float | None

    def excludes(self, value: float) -> bool:
        """Whether a value lies outside of the interval; False where there is no interval."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    @property
    def above_zero(self) -> bool:
        return self.low is not None and self.low > 0

    @property
    def below_zero(self) -> bool:
        return self.high is not None and self.high < 0

    @property
    def positive(self) -> bool | None:
        """True if the whole interval lies above 0, False if below; None if it contains 0 or does not exist."""
        return self.above_zero if self.above_zero or self.below_zero else None


@dataclass(frozen=True)
class Paired:
    """The difference A − B on the seeds that both have, and tests of it; a single seed has no p-value."""

    difference: Summary
    differences: tuple[float, ...]
    """Seed by seed."""

    @property
    def sign_flip(self) -> float | None:
        """The p-value of the exact sign-flip test, which assumes no distribution; None for too many seeds."""
        return sign_flip_p(self.differences) if len(self.differences) <= MOST_FLIPPED else None

    @property
    def p(self) -> float | None:
        """Of the two-sided paired t test that the mean is not 0."""
        below, above = self.p_below(0.0), self.p_above(0.0)
        return None if below is None or above is None else min(1.0, 2 * min(below, above))

    def p_below(self, bound: float) -> float | None:
        """Of the one-sided paired t test that the mean lies below a bound."""
        return _p_below(self.difference, bound)

    def p_above(self, bound: float) -> float | None:
        """Of the one-sided paired t test that the mean lies above a bound."""
        return _p_below(self.difference, bound, upwards=True)

    def p_level(self, margin: float = MARGIN) -> float | None:
        """Of the two one-sided tests that the mean lies between -margin and margin."""
        below, above = self.p_below(margin), self.p_above(-margin)
        return None if below is None or above is None else max(below, above)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A paired difference, with p-values that `corrected` gives it."""

    pair: Paired
    p: float | None = None
    """Of the paired t test, with Holm's correction for all comparisons of the same table."""
    p_level: float | None = None
    """Of equivalence within a point, with the same correction."""

    @property
    def positive(self) -> bool | None:
        """True if the difference is surely above 0, False if surely below; None if that cannot be told."""
        return self.pair.difference.mean > 0 if is_sure(self.p) else None

    @property
    def level(self) -> bool:
        """Whether the difference surely lies within a point, and its sign cannot be told."""
        return self.positive is None and is_sure(self.p_level)


def corrected(found: Sequence[T]) -> list[T]:
    """The comparisons of one table with their p-values."""
    p, level = holm([one.pair.p for one in found]), holm([one.pair.p_level() for one in found])
    return [replace(one, p=a, p_level=b) for one, a, b in zip(found, p, level, strict=True)]


def summarise(values: Sequence[float]) -> Summary | None:
    """Mean, standard deviation (n - 1) and 95 % interval of the mean; None of no numbers."""
    if not values:
        return None
    mean, n = fmean(values), len(values)
    if n == 1:
        return Summary(1, mean, None, None, None)
    std = stdev(values)
    half = _t_quantile(n - 1) * std / n**0.5
    return Summary(n, mean, std, mean - half, mean + half)


def mean_and_std(summary: Summary | None) -> tuple[float, float] | None:
    """Mean and standard deviation for a picture; the deviation of a single number is 0."""
    return None if summary is None else (summary.mean, summary.std or 0.0)


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided p-value: the share of the 2^n sign patterns whose mean is at least as far from 0 as the one seen.

    With n differences it is at least 2 / 2^n: 0.0625 for five seeds.
    """
    seen = abs(sum(differences)) - 1e-9
    patterns = product((1, -1), repeat=len(differences))
    sums = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in patterns]
    return sum(abs(total) >= seen for total in sums) / len(sums)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Paired | None:
    """A minus B, both by seed; None if they share no seed."""
    differences = [a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())]
    difference = summarise(differences)
    return None if difference is None else Paired(difference, tuple(differences))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P-values, corrected for their number; those that do not exist stay None and do not count."""
    order = sorted((p, number) for number, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (p, number) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p))
        found[number] = largest
    return found


def is_sure(p: float | None) -> bool:
    """Whether a p-value, corrected where it is one of several, is at most 0.05."""
    return p is not None and p <= ALPHA


def _p_below(difference: Summary, bound: float, *, upwards: bool = False) -> float | None:
    """The p-value of the one-sided t test that the mean lies below a bound, or above it."""
    if difference.std is None:
        return None
    gap = bound - difference.mean if upwards else difference.mean - bound
    error = difference.std / difference.n**0.5
    if error <= TINY:
        apart = 0.0 if abs(difference.mean) <= TINY else 0.5**difference.n
        return 1.0 if gap >= -TINY else apart
    return _t_distribution(difference.n - 1, gap / error)


def _t_distribution(freedom: int, value: float) -> float:
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


@cache
def _t_quantile(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
