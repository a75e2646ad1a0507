"""What a recovery with trust records besides its scores: the way that it chose, and how it ranks hostile links."""

from collections import Counter

from gvdn.reports.grids import Slot, lines
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, number

WAYS = ("trust", "trust without training", "as it is", "Algorithm 3")
"""The ways that a recovery chooses from, in its order; in poisoning there is another."""


def choices_table(joined: Joined) -> Table:
    """How often each way was chosen, over all datasets and seeds: a line for each row and mode of the spec."""
    found: dict[Slot, Counter[str]] = {}
    for slot, mine in lines(joined).items():
        there = [record for runs in mine.values() for record in runs.records.values()]
        if chosen := Counter(record.recovery["chosen"] for record in there if record.recovery):
            found[slot] = chosen
    ways = distinct((*WAYS, *(way for chosen in found.values() for way in chosen)))
    drawn = [_line(slot, [Entry(str(chosen[way])) for way in ways]) for slot, chosen in found.items()]
    return Table("way that was chosen, runs", ways, drawn)


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
