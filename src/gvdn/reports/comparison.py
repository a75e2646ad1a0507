"""One method against the others of a table: each other method in its best mode, with paired tests over the seeds."""

from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import paired
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, beats
from gvdn.study import Mode

NOTE = (
    "Points of accuracy on the victims, mean over the seeds that both have, with the 95 % interval of Student's t for "
    "paired differences. The other method is taken in the mode with the highest mean on these same victims, which "
    "favours it. p: exact two-sided sign-flip test; with five seeds it cannot fall below 2/32 = 0.0625, so no single "
    "comparison is below 0.05 by it. There is no correction for the number of comparisons. Bold: the interval lies "
    "above 0. Marked: below 0."
)


def best_mode(joined: Joined, method: str, dataset: str) -> Runs | None:
    """The runs of a method in the mode with the highest mean accuracy; the first of equal ones."""
    return best_of([one for one in joined.runs if one.row.method == method and one.dataset == dataset])


def best_of(candidates: list[Runs]) -> Runs | None:
    """The runs with the highest mean accuracy; the first of equal ones, None if none has a record."""
    found = [(summary.mean, one) for one in candidates if (summary := one.summary("accuracy")) is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def paired_tests(joined: Joined, method: str, mode: Mode) -> Table:
    """A method in a mode minus each other method in its best mode, on the same seeds and victims."""
    datasets, lines = list(joined.spec.datasets), []
    for other in distinct(row.method for row in joined.spec.rows if row.method != method):
        entries = []
        for dataset in datasets:
            ours, theirs = joined.find(dataset, mode, method=method), best_mode(joined, other, dataset)
            if ours is None or theirs is None:
                entries.append(Entry(NOT_RUN))
                continue
            pair = paired(ours.values("accuracy"), theirs.values("accuracy"))
            entries.append(beats(pair, theirs.mode, usual=len(joined.spec.seeds)))
        lines.append(Line(other, entries))
    return Table(f"{method} ({mode}) minus each other method in its best mode", datasets, lines, NOTE)
