"""How the claims of the paper are judged from records: verdicts, and the rules that several claims share."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gvdn.paper.exhibits import load_exhibits
from gvdn.registry import Registry
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined, Runs, same_device
from gvdn.reports.statistics import Summary, paired
from gvdn.reports.tables import number, signed

Judged = tuple[bool | None, str]
"""Whether a claim or a part of it holds (None: it cannot be told), and the numbers it rests on."""

VERDICTS = {True: "holds", False: "does not hold", None: "cannot be told"}

SLIGHT = 1.0
"""Points of accuracy: a gain that is surely smaller is no help."""


class NotRun(Exception):
    """The records that a claim needs are missing."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the verdict, the numbers it rests on, and the rule that was applied."""

    number: int
    where: str
    says: str
    verdict: str
    numbers: str
    rule: str


CLAIMS: Registry[Callable[[Study], Claim]] = Registry("claim")
"""Number of a claim -> what judges it."""


def claim(number: int, where: str, says: str) -> Callable[[Callable[[Study], Judged]], Callable[[Study], Judged]]:
    """Decorator: register a function from records to a verdict and its numbers; its docstring is the rule."""

    def put(weigh: Callable[[Study], Judged]) -> Callable[[Study], Judged]:
        def judged(study: Study) -> Claim:
            try:
                verdict, numbers = weigh(study)
            except NotRun as nothing:
                verdict, numbers = None, f"not run: {nothing}"
            rule = " ".join((inspect.getdoc(weigh) or "").split())
            return Claim(number, where, says, VERDICTS[verdict], numbers, rule)

        CLAIMS.add(str(number), judged)
        return weigh

    return put


def judge(study: Study) -> list[Claim]:
    """Every claim with its verdict, in the order of their numbers."""
    load_exhibits()
    return [CLAIMS[number](study) for number in sorted(CLAIMS, key=int)]


def of(study: Study, name: str) -> Joined:
    """A spec of the study with at least one record, or NotRun."""
    if name not in study or not study[name].records:
        raise NotRun(f"no records of {name}")
    return study[name]


@dataclass(frozen=True)
class Gap:
    """A paired difference that is above 0 if the claim holds."""

    name: str
    difference: Summary | None
    digits: int = 1

    def __str__(self) -> str:
        if self.difference is None:
            return f"{self.name} not run"
        return f"{self.name} {signed(self.difference.mean, self.digits)}{interval(self.difference, self.digits)}"


def gap(
    name: str, a: Runs | None, b: Runs | None, metric: str = "accuracy", other: str | None = None, *, digits: int = 1
) -> Gap:
    """A minus B on the seeds that both have; seconds are compared on the same device only."""
    if a is None or b is None:
        return Gap(name, None, digits)
    mine, theirs = a.values(metric), b.values(other or metric)
    if metric == "seconds":
        mine = {seed: mine[seed] for seed in same_device(a, b)}
    pair = paired(mine, theirs)
    return Gap(name, pair.difference if pair else None, digits)


def known(one: Gap) -> Summary:
    """The difference over two seeds or more, or NotRun."""
    if one.difference is None or one.difference.n < 2:
        raise NotRun(f"{one.name} has fewer than two seeds with both of its sides")
    return one.difference


def everywhere(gaps: Sequence[Gap]) -> Judged:
    """Holds if every mean is above 0; does not hold if some interval lies below 0; otherwise it cannot be told."""
    found, against = differences(gaps), not_above(gaps)
    up, sure = sum(one.mean > 0 for one in found), sum(one.above_zero for one in found)
    numbers = f"the difference is above 0 in {up} of {len(found)}, with its whole 95 % interval in {sure}"
    if len(found) < len(gaps):
        numbers += f"; {len(gaps) - len(found)} more comparisons not run"
    numbers += f". Not above 0: {against}" if against else ""
    if any(one.below_zero for one in found):
        return False, numbers
    whole = up == len(found) == len(gaps) and all(one.n > 1 for one in found)
    return whole or None, numbers


def mostly(gaps: Sequence[Gap], what: str) -> Judged:
    """Holds if more than half of all means are above 0; does not hold if that can no longer happen.

    Nothing can be told from one seed.
    """
    found, against = differences(gaps), not_above(gaps)
    up, absent = sum(one.mean > 0 for one in found), len(gaps) - len(found)
    numbers = f"{what} in {up} of {len(found)}" + (f" ({absent} not run)" if absent else "")
    numbers += f"; not in {against}" if against else ""
    if any(one.n < 2 for one in found):
        return None, f"{numbers}; some have one seed only"
    return 2 * up > len(gaps) or (False if 2 * (up + absent) <= len(gaps) else None), numbers


def differences(gaps: Sequence[Gap]) -> list[Summary]:
    """The differences of those that were run, or NotRun."""
    found = [one.difference for one in gaps if one.difference is not None]
    if not found:
        raise NotRun("none of its comparisons has a record")
    return found


def not_above(gaps: Sequence[Gap]) -> str:
    """Those whose mean is not above 0."""
    return listed([one for one in gaps if one.difference and one.difference.mean <= 0])


def helps(gain: Summary) -> bool | None:
    """True if the whole interval lies above 0; else False if all of it lies below one point; else None."""
    if gain.above_zero:
        return True
    return False if gain.high is not None and gain.high < SLIGHT else None


def all_parts(parts: Iterable[Judged]) -> Judged:
    """Holds if every part does; does not hold if one part does not."""
    parts = list(parts)
    return all_hold(verdict for verdict, _ in parts), "; ".join(text for _, text in parts)


def all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """True if all are True; False if one is False; else None."""
    found = set(verdicts)
    return False if False in found else (None if None in found else True)


def mean(runs: Runs | None, metric: str = "accuracy") -> float:
    """The mean over two seeds or more, or NotRun."""
    summary = runs.summary(metric) if runs else None
    if runs is None or summary is None or summary.n < 2:
        where = f"{runs.name} on {runs.dataset}, {runs.mode}" if runs else "a row that it needs"
        raise NotRun(f"fewer than two seeds of {where}")
    return summary.mean


def interval(summary: Summary, digits: int = 1) -> str:
    """The 95 % interval in brackets."""
    if summary.low is None or summary.high is None:
        return " (one seed)"
    return f" [{number(summary.low, digits)}, {number(summary.high, digits)}]"


def listed(gaps: Sequence[Gap], at_most: int = 6) -> str:
    """The first of some differences, and how many more there are."""
    words = [str(one) for one in gaps[:at_most]]
    return ", ".join(words) + (f" and {len(gaps) - at_most} more" if len(gaps) > at_most else "")
