"""How sure the answers of the field are, and whether they are as sure as they are right."""

from collections.abc import Sequence
from statistics import fmean

from gvdn.paper.field import NOT_APPLICABLE, Column, Field, Who
from gvdn.reports.tables import Entry, Line, Table, number

METRICS = {"entropy": ("entropy", 1), "ece": ("calibration error", 1), "brier": ("Brier score", 2)}
"""Metric -> its name in a table, and the digits that are shown."""
NOT_BETTER = "entropy"
"""The metric of which the lowest value is not the best: a method that is wrong may be sure."""

READ = (
    "Mean over the seeds, then over graphs and columns: clean, the attacks of evasion, those of poisoning. Entropy: of "
    "the class probabilities, in % of that of equal ones; low is sure, not right. Calibration error: how far the "
    "probability of the named class is from the share of right answers, in points. Brier score: the squared distance "
    "of the probabilities from the truth, 0 to 2. Bold: the lowest of a column of the last two. n/a: not asked in all "
    "of them."
)


def certainty_table(field: Field) -> Table:
    """A line for each method: each metric clean, under the attacks of evasion, and under those of poisoning.

    A number is the mean over all graphs and columns of its kind; there is none where one of them has none.
    """
    attacks = [column for column in field.columns if not column.clean]
    kinds = {
        "clean": [column for column in field.columns if column.clean],
        "evasion": [column for column in attacks if column.group not in field.poisoned],
        "poisoning": [column for column in attacks if column.group in field.poisoned],
    }
    asked = [(metric, kind) for metric in METRICS for kind, columns in kinds.items() if columns]
    found = {
        (metric, kind): {who: _mean(field, who, kinds[kind], metric) for who in field.in_order}
        for metric, kind in asked
    }
    lines = [
        Line(who.name, [_entry(metric, found[metric, kind], who) for metric, kind in asked]) for who in field.in_order
    ]
    return Table("How sure the answers are", [f"{METRICS[metric][0]}, {kind}" for metric, kind in asked], lines)


def _mean(field: Field, who: Who, columns: Sequence[Column], metric: str) -> float | None:
    """Over the seeds, then over graphs and columns; None where one of them has no number."""
    means = []
    for dataset in field.datasets:
        for column in columns:
            runs = field.runs(who, column, dataset)
            summary = runs.summary(f"clean.{metric}" if column.clean else metric) if runs else None
            if summary is None:
                return None
            means.append(summary.mean)
    return fmean(means)


def _entry(metric: str, means: dict[Who, float | None], who: Who) -> Entry:
    """The number of one of these; the lowest is bold where that is the best."""
    value = means[who]
    if value is None:
        return Entry(NOT_APPLICABLE)
    lowest = min(one for one in means.values() if one is not None)
    return Entry(number(value, METRICS[metric][1]), best=metric != NOT_BETTER and value == lowest)
