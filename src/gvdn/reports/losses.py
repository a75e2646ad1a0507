"""Figure 7 from records: every loss over the epochs of both stages, and how far it still moves at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from gvdn.reports.figures import LOSS_NAMES, Curve, falling_curves, shares_of_the_largest
from gvdn.reports.joined import Joined
from gvdn.reports.statistics import Summary, mean_and_std, summarise
from gvdn.reports.tables import Entry, Line, Table, compared

STAGES = {"fit": "training", "recover": "retraining"}
"""How a record calls a stage -> how a reader does."""

History = tuple[Sequence[int], Sequence[float]]
"""Epochs, and the loss in each."""


def loss_picture(joined: Joined) -> str:
    """A panel per stage: the mean of each loss over the seeds, each divided by its largest value."""
    panels: dict[str, dict[str, Curve]] = {words: {} for words in STAGES.values()}
    for (stage, name), histories in _histories(joined).items():
        panels[stage][LOSS_NAMES[name]] = _mean_curve(histories)
    return falling_curves({stage: lines for stage, lines in panels.items() if lines}, title=joined.spec.title)


def movements(joined: Joined) -> dict[tuple[str, str], Summary]:
    """(stage, loss) -> over the seeds, how far the loss still moves at the end, in % of its range."""
    found = {}
    for key, histories in _histories(joined).items():
        summary = summarise([100 * movement(values) for _, values in histories])
        if summary is not None:
            found[key] = summary
    return found


def movement(values: Sequence[float]) -> float:
    """From the last tenth but one to the last, by their means, as a share of the range; a flat line moves by 0."""
    span = max(values) - min(values)
    if span == 0:
        return 0.0
    tenth = max(len(values) // 10, 1)
    return abs(fmean(values[-tenth:]) - fmean(values[-2 * tenth : -tenth])) / span


def movement_table(joined: Joined) -> Table:
    """A line per loss, a column per stage."""
    found, usual = movements(joined), len(joined.spec.seeds)

    def entry(stage: str, name: str) -> Entry:
        moved = found.get((stage, name))
        return Entry("") if moved is None else compared(moved, None, usual=usual)

    lines = [Line(words, [entry(stage, name) for stage in STAGES.values()]) for name, words in LOSS_NAMES.items()]
    note = (
        "How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, in % of its "
        "range over the run."
    )
    return Table("movement at the end, in % of the range", list(STAGES.values()), lines, note)


def _histories(joined: Joined) -> dict[tuple[str, str], list[History]]:
    """(stage, loss) -> a history per seed."""
    found: dict[tuple[str, str], list[History]] = defaultdict(list)
    for record in joined.records:
        for stage, name, history in _kept(record["losses"]):
            found[STAGES[stage], name].append(history)
    return found


def _kept(losses: dict[str, Any]) -> Iterator[tuple[str, str, History]]:
    for stage in STAGES:
        for name in LOSS_NAMES:
            if name in losses[stage]:
                yield stage, name, ([int(epoch) for epoch in losses[stage]["epochs"]], losses[stage][name])


def _mean_curve(histories: Sequence[History]) -> Curve:
    """Epoch by epoch over the seeds that have it."""
    at: dict[int, list[float]] = defaultdict(list)
    for epochs, values in histories:
        for epoch, share in zip(epochs, shares_of_the_largest(values), strict=True):
            at[epoch].append(share)
    points = [(epoch, mean_and_std(summarise(at[epoch])) or (0.0, 0.0)) for epoch in sorted(at)]
    return [float(epoch) for epoch, _ in points], [mean for _, (mean, _) in points], [std for _, (_, std) in points]
