"""A spec's records as grids: a line per row and mode, a column per dataset, the paper's value where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.tables import NOT_ASKED, NOT_RUN, Entry, Line, Table, compared

METRICS = {
    "accuracy": ("accuracy in %", 1),
    "entropy": ("normalised entropy in %", 1),
    "ece": ("expected calibration error in %", 1),
    "brier": ("Brier score", 2),
    "seconds": ("seconds: fit + recover + answer", 1),
    "seconds_each": ("seconds per sub-graph", 2),
    "peak_mib": ("peak memory of the process in MiB", 0),
    "peak_gpu_mib": ("peak GPU memory in MiB", 0),
}
"""What is measured -> its title, and the digits that are shown."""

SCORES = ("accuracy", "entropy", "ece", "brier")

ELSEWHERE = ("seconds", "seconds_each")
"""What the paper measured on a machine of its own: shown beside ours, not compared."""

Printed = Callable[[Runs, str], float | None]
"""The paper's value of a metric for some runs, if it prints one."""


def grids(joined: Joined, metrics: Sequence[str] = SCORES, *, shown: Sequence[str] = ("accuracy",)) -> list[Table]:
    """One table per metric; those that are not to be shown at once are folded."""
    return [grid(joined, metric, folded=metric not in shown) for metric in metrics]


def grid(
    joined: Joined,
    metric: str,
    paper: Printed = lambda runs, metric: None,
    note: str = "",
    *,
    folded: bool,
    best: Mapping[str, Runs] | None = None,
) -> Table:
    """One metric; rows that are all in one mode stand under their labels alone. `best`: dataset -> whose is bold."""
    title, digits = METRICS[metric]

    def entry(runs: Runs | None) -> Entry:
        if runs is None:
            return Entry(NOT_ASKED)
        return compared(
            runs.summary(metric),
            paper(runs, metric),
            usual=len(joined.spec.seeds),
            digits=digits,
            best=(best or {}).get(runs.dataset) is runs,
            why=why_empty(runs),
            elsewhere=metric in ELSEWHERE,
        )

    datasets = list(joined.spec.datasets)
    lines, alone = [], len({one.mode for one in joined.runs}) == 1
    for label, mode in distinct((one.row.label, one.mode) for one in sorted(joined.runs, key=_row_order(joined))):
        entries = [entry(joined.find(dataset, mode, label=label)) for dataset in datasets]
        lines.append(_line(label, mode, entries, alone=alone))
    title += f", {joined.runs[0].mode}" if alone else ""
    return Table(title, datasets, lines, note, folded=folded)


def why_empty(runs: Runs) -> str:
    """What stands where there is no number."""
    return "failed" if runs.errors else NOT_RUN


def measured_datasets(joined: Joined) -> list[str]:
    """The datasets with any record."""
    there = {record["cell"]["dataset"] for record in joined.records}
    return [dataset for dataset in joined.spec.datasets if dataset in there]


def finished_datasets(joined: Joined) -> list[str]:
    """The datasets without a missing run; where there is none, those with any record."""
    missing = {one.dataset for one in joined.runs if one.missing}
    return [dataset for dataset in joined.spec.datasets if dataset not in missing] or measured_datasets(joined)


def _line(label: str, mode: str, entries: list[Entry], *, alone: bool) -> Line:
    """A label such as "nettack: gcn" says its group itself."""
    group, _, name = label.rpartition(": ")
    if group:
        return Line(f"{name}, {mode}", entries, group)
    return Line(label, entries) if alone else Line(mode, entries, label)


def _row_order(joined: Joined) -> Callable[[Runs], int]:
    order = {id(row): place for place, row in enumerate(joined.spec.rows)}
    return lambda one: order[id(one.row)]
