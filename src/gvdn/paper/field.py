"""The field: every method under every threat model, with ranks over all graphs.

Rows are methods, columns are the groups of the spec `field` (threat models) and the clean accuracy. A mode in which
something stands in front of a method (the guard, or trust) has a column of its own beside that of the method alone; a
method that is asked so under every evasion attack is a line of its own besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from gvdn.reports.comparison import POISONED
from gvdn.reports.grids import why_empty
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.ranks import MeanRank, mean_ranks, ranks
from gvdn.reports.statistics import Summary
from gvdn.study import Mode

GUARD, TRUST = "guard in front", "trust in front"
IN_FRONT = {Mode.NEW_GUARDED: GUARD, Mode.NEW_TRUSTED: TRUST, Mode.POISONING_TRUSTED: TRUST}

NOT_APPLICABLE = "n/a"
"""Stands where a method was not asked."""
OF_THE_METHOD = "PRBCD of the method"
RECOVERING = ("graphss", "lindt", "gtrans")
"""Methods that no gradient reaches once they have recovered: attacked was what was fitted."""
BEFORE_RECOVERY = "†"
"""The sign of an attack that went through a method before it recovers."""
ALSO = {(OF_THE_METHOD, method): "PRBCD of a GCN" for method in ("gcn", "mlp")}
"""Group and method -> the group whose runs these are, where the spec does not repeat them: the attack of a GCN is the
attack of the method for a GCN, and any is as good for an MLP, which reads no links."""

_STORED, _RECOVERY, _LABELS = "stored results", "test-time recovery", "labels at recovery"
GIVEN: dict[str, tuple[str, ...]] = {
    "gvdn": (_STORED, _RECOVERY),
    "mlp": ("features only",),
    "prognn": (_STORED,),
    "snapshot": (_STORED,),
    "graphss": (_STORED, _RECOVERY, _LABELS),
    "lindt": (_STORED, _RECOVERY, _LABELS),
    "gtrans": (_RECOVERY,),
    "gcn-retrained": ("retraining", _LABELS),
}
"""Method -> `given` of its Capabilities, where that is not empty; written here because reports import no torch. A test
compares it with what the methods declare."""


@dataclass(frozen=True)
class Column:
    """What is asked: a group of the spec, alone or with something in front of the method, or the clean accuracy."""

    group: str
    front: str = ""
    clean: bool = False

    @property
    def title(self) -> str:
        return "clean" if self.clean else ", ".join(filter(None, (self.group, self.front)))

    @property
    def metric(self) -> str:
        return "clean.accuracy" if self.clean else "accuracy"


@dataclass(frozen=True)
class Who:
    """Who answers: a method, alone or with something in front of it under every evasion attack."""

    method: str
    front: str = ""

    @property
    def name(self) -> str:
        return " with ".join(filter(None, (self.method, self.front)))

    @property
    def letters(self) -> str:
        """The initials of what the method was given, and what stands in front of it."""
        more = GIVEN.get(self.method, ())
        more = (*more, _STORED) if self.front == TRUST and _STORED not in more else more
        return " ".join(words[0].upper() for words in (more if "features only" in more else ("graph", *more)))


Pair = tuple[str, Column]
"""A dataset and a column: one comparison of all methods."""


class Field:
    """The spec `field`, or one of its form, with its records: all of them, or those of some `runs`.

    Means over graphs can be compared only where they are over the same graphs, so two parts are shown: `on_all_graphs`
    and `on_shared_graphs`.
    """

    def __init__(self, joined: Joined, runs: Sequence[Runs] | None = None) -> None:
        chosen = joined.runs if runs is None else runs
        self.joined = joined
        self.datasets = [dataset for dataset in joined.spec.datasets if any(one.dataset == dataset for one in chosen)]
        places = distinct((one.dataset, one.row.group) for one in chosen)
        self.seeds = {place: _common_seeds(joined.spec.seeds_of(place[0]), chosen, *place) for place in places}
        """Dataset and group -> the seeds that all methods have of those with any: only these are shown."""
        self._runs = {(*_asked(one), one.dataset): _of(one, self.seeds[one.dataset, one.row.group]) for one in chosen}
        there = {id(one.row) for one in chosen}
        rows = [row for row in joined.spec.rows if id(row) in there]
        groups = distinct(row.group for row in rows)
        self.poisoned = {one.row.group for one in chosen if one.mode in POISONED}
        self.columns = ranked_columns(groups)
        """Those that are ranked: the clean accuracy, as the records of the first group have it, and all groups."""
        methods = distinct(row.method for row in rows)
        evasion = [group for group in groups if group not in self.poisoned]
        in_front = {_asked(one) for one in chosen if _front(one)}
        self.who = [Who(method) for method in methods]
        self.who += [
            Who(method, front)
            for front in (GUARD, TRUST)
            for method in methods
            if evasion and all((group, method, front) in in_front for group in evasion)
        ]
        self._fronts = [
            Column(group, front)
            for group in groups
            for front in (GUARD, TRUST)
            if sum((group, method, front) in in_front for method in methods) > 1
        ]

    @property
    def shown(self) -> list[Column]:
        """All columns of a table: those with something in front, of more than one method, beside those without."""
        return [one for column in self.columns for one in (column, *self._in_front_of(column))]

    @property
    def pairs(self) -> list[Pair]:
        """Every comparison: a dataset and a ranked column in which somebody was asked."""
        found = [(dataset, column) for dataset in self.datasets for column in self.columns]
        return [pair for pair in found if any(self.runs(who, pair[1], pair[0]) for who in self.who)]

    def runs(self, who: Who, column: Column, dataset: str) -> Runs | None:
        """What was run of a method in a column on a dataset; None where it was not asked.

        Clean is the fitted method alone, so that with something in front it is the same.
        """
        if who.front and column.front:
            return None
        front = column.front or who.front
        found = self._runs.get((column.group, who.method, front, dataset))
        also = "" if front else ALSO.get((column.group, who.method), "")
        return found or self._runs.get((also, who.method, front, dataset))

    def summary(self, who: Who, column: Column, dataset: str) -> Summary | None:
        runs = self.runs(who, column, dataset)
        return runs.summary(column.metric) if runs else None

    def means(self, pair: Pair) -> dict[Who, float]:
        """The mean over the seeds of everybody who has one in this comparison."""
        found = {who: self.summary(who, pair[1], pair[0]) for who in self.who}
        return {who: summary.mean for who, summary in found.items() if summary}

    def first(self, pair: Pair) -> set[Who]:
        """Who has the highest mean of a comparison: more than one where several are equal."""
        means = {who.name: mean for who, mean in self.means(pair).items()}
        placed = ranks(means)
        best = min(placed.values(), default=0.0)
        return {who for who in self.who if placed.get(who.name) == best}

    def over_datasets(self, who: Who, column: Column) -> tuple[float, int] | None:
        """The mean over the datasets that have a number, and how many these are."""
        found = self.by_dataset(who, column)
        return (fmean(found.values()), len(found)) if found else None

    def by_dataset(self, who: Who, column: Column) -> dict[str, float]:
        """Dataset -> the mean over the seeds, where there is one."""
        found = {dataset: self.summary(who, column, dataset) for dataset in self.datasets}
        return {dataset: summary.mean for dataset, summary in found.items() if summary}

    def highest(self, column: Column) -> list[Who]:
        """Who has the highest mean over the datasets, of those that have a number on as many as anybody."""
        found = {who: mean for who in self.who if (mean := self.over_datasets(who, column))}
        most = max((there for _, there in found.values()), default=0)
        means = {who: mean for who, (mean, there) in found.items() if there == most}
        return [who for who, mean in means.items() if mean == max(means.values())]

    def counts(self, dataset: str) -> list[int]:
        """How many seeds the columns of a dataset are of, the fewest first; without those that have none."""
        return sorted({len(seeds) for (where, _), seeds in self.seeds.items() if where == dataset and seeds})

    @property
    def title(self) -> str:
        methods = len({who.method for who in self.who})
        return f"{methods} methods under {len(self.columns) - 1} attacks"

    def mean_ranks(self, pairs: list[Pair]) -> dict[str, MeanRank]:
        """Name -> the mean rank over those of these comparisons in which at least two have a number."""
        found = [{who.name: mean for who, mean in self.means(pair).items()} for pair in pairs]
        return mean_ranks([means for means in found if len(means) > 1])

    @cached_property
    def overall(self) -> dict[str, MeanRank]:
        """Name -> the mean rank over all comparisons."""
        return self.mean_ranks(self.pairs)

    def evasion(self) -> list[Pair]:
        return [(dataset, one) for dataset, one in self.pairs if not one.clean and one.group not in self.poisoned]

    def asked(self, who: Who) -> int:
        """In how many comparisons a method takes part, measured or not."""
        return sum(self.runs(who, column, dataset) is not None for dataset, column in self.pairs)

    def in_all(self, who: Who) -> bool:
        """Whether a method was asked in every comparison: one that was not is ranked in easier or harder company."""
        return self.asked(who) == len(self.pairs)

    @property
    def in_order(self) -> list[Who]:
        """By mean rank; those that were not asked in every comparison, and then those without a number, at the end."""

        def place(who: Who) -> tuple[bool, bool, float]:
            rank = self.overall.get(who.name)
            return rank is None, not self.in_all(who), rank.mean if rank else 0.0

        return sorted(self.who, key=place)

    def why_empty(self, who: Who, column: Column, dataset: str) -> str | None:
        """What stands where there is no number; None where the method was not asked."""
        runs = self.runs(who, column, dataset)
        return why_empty(runs) if runs else None

    def _in_front_of(self, column: Column) -> list[Column]:
        return [] if column.clean else [one for one in self._fronts if one.group == column.group]


def ranked_columns(groups: Sequence[str]) -> list[Column]:
    """The clean accuracy, and all groups."""
    return [Column(groups[0], clean=True), *map(Column, groups)]


def on_all_graphs(joined: Joined) -> Field:
    """What was run on every graph of the spec: the groups, and the methods that were run on every graph in all of
    these groups that they support."""
    everywhere = {key for key, where in _where(joined).items() if where == set(joined.spec.datasets)}
    groups = {group for group, _, front in everywhere if not front}
    partly = {method for group, method, front in _where(joined).keys() - everywhere if group in groups and not front}
    return Field(
        joined,
        [
            one
            for one in joined.runs
            if _asked(one) in everywhere and one.row.group in groups and one.row.method not in partly
        ],
    )


def on_shared_graphs(joined: Joined) -> Field:
    """Every method, on the graphs that all of them were run on."""
    of_method: dict[str, set[str]] = {}
    for (_, method, _), where in _where(joined).items():
        of_method[method] = of_method.get(method, set()) | where
    shared = set.intersection(*of_method.values())
    return Field(joined, [one for one in joined.runs if one.dataset in shared])


def _where(joined: Joined) -> dict[tuple[str, str, str], set[str]]:
    """Group, method and what stands in front -> the datasets on which this is asked for."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in joined.runs:
        found.setdefault(_asked(one), set()).add(one.dataset)
    return found


def _asked(runs: Runs) -> tuple[str, str, str]:
    return runs.row.group, runs.row.method, _front(runs)


def _front(runs: Runs) -> str:
    return IN_FRONT.get(runs.mode, "")


def _common_seeds(seeds: Sequence[int], runs: Sequence[Runs], dataset: str, group: str) -> list[int]:
    here = [one for one in runs if (one.dataset, one.row.group) == (dataset, group)]
    begun = [one for one in here if one.records or one.errors]
    lacking = {seed for one in begun for seed in one.missing}
    return [seed for seed in seeds if begun and seed not in lacking]


def _of(runs: Runs, seeds: list[int]) -> Runs:
    """What is there of these seeds."""
    there = {seed: one for seed, one in runs.records.items() if seed in seeds}
    failed = {seed: one for seed, one in runs.errors.items() if seed in seeds}
    left = [seed for seed in (*runs.records, *runs.errors, *runs.missing) if seed not in seeds]
    return replace(runs, records=there, errors=failed, missing=sorted(left))
