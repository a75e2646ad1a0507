"""What a recovery with trust records besides its scores: the way that it chose, and how it ranks hostile links."""

from collections import Counter

from gvdn.reports.grids import Slot, lines
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, number

WAYS = ("trust", "trust without training", "as it is", "Algorithm 3")
"""The ways that a recovery chooses from, in its order."""


def choices_table(joined: Joined) -> Table:
    """How often each way was chosen, over all datasets and seeds: a line for each row and mode of the spec."""
    drawn = []
    for slot, mine in lines(joined).items():
        chosen = Counter(
            record.recovery["chosen"] for runs in mine.values() for record in runs.records.values() if record.recovery
        )
        if chosen:
            drawn.append(_line(slot, [Entry(str(chosen[way])) for way in WAYS]))
    return Table("way that was chosen, runs", list(WAYS), drawn)


def links_table(joined: Joined) -> Table:
    """The area under the curve of hostile links at the victims, and in small letters their calibration error."""
    drawn = []
    for slot, mine in lines(joined).items():
        if any(record.links for runs in mine.values() for record in runs.records.values()):
            drawn.append(_line(slot, [_ranked(mine.get(dataset)) for dataset in joined.spec.datasets]))
    note = "Area under the curve; in parentheses the expected calibration error in %."
    return Table("hostile links at the victims", list(joined.spec.datasets), drawn, note)


def _ranked(runs: Runs | None) -> Entry:
    ranked, error = (runs.summary(f"links.{name}") if runs else None for name in ("auc", "ece"))
    return Entry(number(ranked.mean, 2), number(error.mean)) if ranked and error else Entry(NOT_RUN)


def _line(slot: Slot, entries: list[Entry]) -> Line:
    group, label, mode = slot
    return Line(str(mode), entries, group or label)
