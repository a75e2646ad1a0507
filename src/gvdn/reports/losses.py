"""Losses over the epochs of training and recovery, and how far they still move at the end."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from gvdn.reports.figures import Curve, curves
from gvdn.reports.joined import Joined, distinct
from gvdn.reports.statistics import Summary, mean_and_std, summarise
from gvdn.reports.tables import Entry, Line, Table, compared

STAGES = {"fit": "training", "recover": "recovery"}
"""Name of a stage in records -> its title."""

LOSS_NAMES = {"ce": "cross entropy", "kl": "KL divergence", "df": "diffusion", "nm": "embedding match"}
"""Name of a loss in records -> its title; other losses keep their name."""

CAPTION = "Line: the mean over the seeds. Band: one standard deviation."
NOTE = (
    "How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, in % of its "
    "range over the run."
)

History = tuple[Sequence[int], Sequence[float]]
"""Epochs, and the loss in each of them."""


def loss_picture(joined: Joined) -> str:
    """A panel for each stage: every loss divided by its largest value, mean over the seeds."""
    panels: dict[str, dict[str, Curve]] = {words: {} for words in STAGES.values()}
    for (stage, name), histories in _histories(joined).items():
        panels[stage][LOSS_NAMES.get(name, name)] = _mean_curve(histories)
    panels = {stage: lines for stage, lines in panels.items() if lines}
    labels = ["loss / its maximum"] * len(panels)
    return curves(panels, xlabel="epoch", ylabels=labels, title=joined.spec.title, ylim=(0.0, 1.05))


def movements(joined: Joined) -> dict[tuple[str, str], Summary]:
    """(stage, loss) -> how far the loss still moves at the end, in % of its range, over the seeds."""
    moved = {key: [100 * movement(values) for _, values in found] for key, found in _histories(joined).items()}
    return {key: summary for key, values in moved.items() if (summary := summarise(values))}


def sizes(joined: Joined) -> dict[tuple[str, str], float]:
    """(stage, loss) -> the largest value of the loss over the epochs as a share of that of the cross entropy of the
    stage, in the seed where this is most."""
    largest = {key: [max(values) for _, values in found] for key, found in _histories(joined).items()}
    return {
        (stage, name): max(value / whole for value, whole in zip(values, largest[stage, "ce"], strict=True))
        for (stage, name), values in largest.items()
    }


def movement(values: Sequence[float]) -> float:
    """Difference between the means of the last tenth and of the tenth before it, as a share of the range; flat is 0."""
    span = max(values) - min(values)
    if span == 0:
        return 0.0
    tenth = max(len(values) // 10, 1)
    return abs(fmean(values[-tenth:]) - fmean(values[-2 * tenth : -tenth])) / span


def movement_table(joined: Joined) -> Table:
    """A line for each loss, a column for each stage."""
    found, usual = movements(joined), max(one.asked for one in joined.runs)

    def entry(stage: str, name: str) -> Entry:
        moved = found.get((stage, name))
        return Entry("") if moved is None else compared(moved, None, usual=usual)

    names = distinct(name for _, name in found)
    lines = [Line(LOSS_NAMES.get(name, name), [entry(stage, name) for stage in STAGES.values()]) for name in names]
    return Table("movement at the end, in % of the range", list(STAGES.values()), lines, NOTE)


def _histories(joined: Joined) -> dict[tuple[str, str], list[History]]:
    """(stage, loss) -> the history of each seed."""
    found: dict[tuple[str, str], list[History]] = defaultdict(list)
    for record in joined.records:
        for stage, name, history in _recorded(record.losses or {}):
            found[STAGES[stage], name].append(history)
    return found


def _recorded(losses: dict[str, Any]) -> Iterator[tuple[str, str, History]]:
    for stage, histories in ((stage, losses[stage]) for stage in STAGES if stage in losses):
        epochs = [int(epoch) for epoch in histories["epochs"]]
        for name in distinct([*LOSS_NAMES, *histories]):
            if name in histories and name != "epochs":
                yield stage, name, (epochs, histories[name])


def _mean_curve(histories: Sequence[History]) -> Curve:
    """Mean and deviation in each epoch, over the seeds that have it."""
    at: dict[int, list[float]] = defaultdict(list)
    for epochs, values in histories:
        most = max(*values, 1e-12)
        for epoch, value in zip(epochs, values, strict=True):
            at[epoch].append(value / most)
    points = [(epoch, mean_and_std(summarise(at[epoch])) or (0.0, 0.0)) for epoch in sorted(at)]
    return [float(epoch) for epoch, _ in points], [mean for _, (mean, _) in points], [std for _, (_, std) in points]
