"""Records as grids: a line for each row and mode, a column for each dataset, the published value where there is one."""

from collections.abc import Callable, Mapping, Sequence

from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.tables import NOT_ASKED, NOT_RUN, Entry, Line, Table, compared, titled
from gvdn.study import Mode

METRICS = {
    "accuracy": ("accuracy in %", 1),
    "entropy": ("normalised entropy in %", 1),
    "ece": ("expected calibration error in %", 1),
    "brier": ("Brier score", 2),
    "seconds": ("seconds: fit + recover + predict", 1),
    "seconds_each": ("seconds per sub-graph", 2),
    "peak_mib": ("peak memory of the process in MiB", 0),
    "peak_gpu_mib": ("peak GPU memory in MiB", 0),
}
"""Metric -> its title, and how many digits are shown."""

SCORES = ("accuracy", "entropy", "ece", "brier")

TIMES = ("seconds", "seconds_each")
"""Metrics that depend on the machine: published values are shown beside ours, but not compared."""

HIGHER = ("accuracy",)
"""Metrics of which more is better; of the others less."""

Published = Callable[[Runs, str], float | None]
"""The published value of a metric for some runs, if there is one."""

Slot = tuple[str, str, Mode]
"""What identifies a line of a grid: group and label of its rows, and the mode."""


def grids(joined: Joined, metrics: Sequence[str] = SCORES, *, shown: Sequence[str] = ("accuracy",)) -> list[Table]:
    """One table per metric; those that are not in `shown` are folded."""
    return [grid(joined, metric, folded=metric not in shown) for metric in metrics]


def grid(
    joined: Joined,
    metric: str,
    published: Published = lambda runs, metric: None,
    *,
    folded: bool,
    best: Mapping[str, Runs] | None = None,
    judged: Callable[[Runs], bool] = lambda runs: True,
) -> Table:
    """The table of one metric; `best` names for each dataset the runs whose value is bold.

    Only runs that are `judged` are marked where they are worse than the published value.
    """
    title, digits = METRICS[metric]

    def entry(runs: Runs | None) -> Entry:
        if runs is None:
            return Entry(NOT_ASKED)
        return compared(
            runs.summary(metric),
            published(runs, metric),
            usual=runs.asked,
            digits=digits,
            best=(best or {}).get(runs.dataset) is runs,
            why=why_empty(runs),
            same_machine=metric not in TIMES,
            lower_is_better=metric not in HIGHER,
            may_be_marked=judged(runs),
        )

    note = joined.spec.notes.get(metric, "")
    found, modes = lines(joined), {one.mode for one in joined.runs}
    datasets = list(joined.spec.datasets)
    if len(datasets) == 1 and len(modes) > 1:
        return _one_dataset(joined, f"{title}, {titled(datasets[0])}", entry, note, folded=folded)
    one_mode = len(modes) == 1
    drawn = [
        _line(slot, [entry(mine.get(name)) for name in datasets], one_mode=one_mode) for slot, mine in found.items()
    ]
    title = f"{title}, {modes.pop()}" if one_mode else title
    return Table(title, list(map(titled, datasets)), drawn, note, folded=folded)


def _one_dataset(
    joined: Joined, title: str, entry: Callable[[Runs | None], Entry], note: str, *, folded: bool
) -> Table:
    """The table of a study with one dataset: a line for each row, a column for each mode."""
    found, (dataset,) = lines(joined), joined.spec.datasets
    columns = [mode for mode in Mode if any(slot[2] == mode for slot in found)]
    drawn = []
    for group, label in distinct((group, label) for group, label, _ in found):
        mine = [found.get((group, label, mode), {}).get(dataset) for mode in columns]
        drawn.append(Line(label, [entry(runs) for runs in mine], group))
    return Table(title, [str(mode) for mode in columns], drawn, note, folded=folded)


def counts_table(joined: Joined) -> Table:
    """What was counted of each graph: a line for each dataset, a column for each count."""
    names = distinct(name for record in joined.records for name in record.counts or {})
    counted = {one.dataset: one for one in joined.runs if one.mode == Mode.COUNTS}
    lines = [
        Line(dataset, [compared(one.summary(f"counts.{name}"), None, usual=one.asked, digits=2) for name in names])
        for dataset, one in counted.items()
    ]
    return Table("counts", [name.replace("_", " ") for name in names], lines, joined.spec.notes.get("counts", ""))


def lines(joined: Joined) -> dict[Slot, dict[str, Runs]]:
    """Line of a grid, in the order of the spec's rows -> dataset -> runs."""
    order = {id(row): number for number, row in enumerate(joined.spec.rows)}
    found: dict[Slot, dict[str, Runs]] = {}
    for one in sorted(joined.runs, key=lambda one: order[id(one.row)]):
        found.setdefault((one.row.group, one.row.label, one.mode), {})[one.dataset] = one
    return found


def why_empty(runs: Runs) -> str:
    """What stands in a table where there is no number."""
    return "failed" if runs.errors else NOT_RUN


def measured_datasets(joined: Joined) -> list[str]:
    """The datasets with any record."""
    found = {one.dataset for one in joined.runs if one.records}
    return [dataset for dataset in joined.spec.datasets if dataset in found]


def finished_datasets(joined: Joined) -> list[str]:
    """The datasets without a missing run; where there is none, those with any record."""
    missing = {one.dataset for one in joined.runs if one.missing}
    return [dataset for dataset in joined.spec.datasets if dataset not in missing] or measured_datasets(joined)


def _line(slot: Slot, entries: list[Entry], *, one_mode: bool) -> Line:
    """A row without a group is the heading of its modes, unless there is only one mode."""
    group, label, mode = slot
    if one_mode:
        return Line(label, entries, group)
    return Line(f"{label}, {mode}", entries, group) if group else Line(mode, entries, label)
