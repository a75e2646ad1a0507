"""Statistics over seeds: means with Student's t intervals, and paired tests on the same seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import fmean, stdev

LEVEL = 0.95


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
    """The difference A − B on the seeds that both have, and the p-value of the exact sign-flip test."""

    difference: Summary
    p: float


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
    return None if difference is None else Paired(difference, sign_flip_p(differences))


@cache
def _t_quantile(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
