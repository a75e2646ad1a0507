"""Ours minus each other line of the field, column by column: paired over the seeds, with tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from gvdn.paper import OURS
from gvdn.paper.field import NOT_APPLICABLE, Column, Field, Pair, Who
from gvdn.reports.statistics import Paired, Tested, corrected, paired
from gvdn.reports.tables import LEVEL_WORD, MARK, Entry, Line, Table, signed


@dataclass(frozen=True, kw_only=True)
class Against(Tested):
    """Ours minus another line in one column; the p-values are corrected for all comparisons of the table."""

    who: Who
    column: Column


class Differences:
    """Ours minus every other line, where both have numbers on every graph of a column."""

    def __init__(self, field: Field) -> None:
        self.field = field

    @cached_property
    def found(self) -> list[Against]:
        """Line by line and column by column, with corrected p-values."""
        ours = Who(OURS)
        found = [
            Against(pair=pair, who=who, column=column)
            for who in self.field.in_order
            if who != ours
            for column in self.field.columns
            if (pair := in_column(self.field, ours, who, column))
        ]
        return corrected(found)

    def table(self) -> Table:
        """A line for each other one, a column for each threat model."""
        at = {(one.who, one.column): one for one in self.found}
        whose = [who for who in self.field.in_order if any(one.who == who for one in self.found)]
        lines = [Line(who.name, [_entry(at.get((who, column))) for column in self.field.columns]) for who in whose]
        return Table(f"{OURS} minus each other line", [column.title for column in self.field.columns], lines)

    def counted(self) -> str:
        """How many differences are sure, in one sentence."""
        if not self.found:
            return ""
        signs = [one.positive for one in self.found]
        level = sum(one.level for one in self.found)
        return (
            f"Compared with each other line in each column, averaged over the graphs, {OURS} is surely better in "
            f"{signs.count(True)} of {len(self.found)} comparisons, surely worse in {signs.count(False)} and surely "
            f"within a point in {level}; {signs.count(None) - level} are undecided (p at most 0.05, Holm's correction)."
        )

    def read(self) -> str:
        """How to read the table."""
        if not self.found:
            return ""
        seeds = " or ".join(map(str, sorted({one.pair.difference.n for one in self.found})))
        return (
            f"{OURS} minus each other line, in points of accuracy: the mean over the graphs for each of the {seeds} "
            f"seeds that both have on all of them, then the mean over these seeds. Bold: surely above "
            f"0. {MARK}: surely below. {LEVEL_WORD.capitalize()}: surely within a point. By paired t tests and two "
            "one-sided ones, p at most 0.05 with Holm's correction for all comparisons of the table."
        )


def in_column(field: Field, first: Who, second: Who, column: Column) -> Paired | None:
    """First minus second over the graphs of a column; None where one of them was not asked on all of these, or where
    they share no seed."""
    pairs = [pair for pair in field.pairs if pair[1] == column]
    if not all(field.runs(who, column, dataset) for who in (first, second) for dataset, column in pairs):
        return None
    return difference(field, first, second, pairs)


def difference(field: Field, first: Who, second: Who, pairs: Sequence[Pair]) -> Paired | None:
    """First minus second in points: for each seed that all of these comparisons have, the mean over them.

    None where they share no seed.
    """
    means: list[dict[int, tuple[float, float]]] = []
    for dataset, column in pairs:
        one, other = (field.runs(who, column, dataset) for who in (first, second))
        if one is None or other is None:
            raise LookupError(f"{first.name} and {second.name} were not both asked in {column.title} on {dataset}")
        a, b = one.values(column.metric), other.values(column.metric)
        means.append({seed: (a[seed], b[seed]) for seed in a.keys() & b.keys()})
    shared = sorted(set.intersection(*map(set, means)))
    a, b = ({seed: fmean(one[seed][place] for one in means) for seed in shared} for place in (0, 1))
    return paired(a, b)


def _entry(one: Against | None) -> Entry:
    if one is None:
        return Entry(NOT_APPLICABLE)
    small = MARK if one.positive is False else LEVEL_WORD if one.level else ""
    return Entry(signed(one.pair.difference.mean), small, best=one.positive is True)
