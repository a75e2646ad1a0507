"""The streaming table from records: seconds per sub-graph, and how many times those of GVDN."""

from __future__ import annotations

from statistics import fmean

from gvdn.reports.compare import grid
from gvdn.reports.joined import Joined, Runs, same_device
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, number

NOTE = (
    "All that happens after the fit, divided by the number of sub-graphs. The paper's seconds are those of its own "
    "machine, ours of the device named at the end; the ratios below can be compared."
)


def streaming_tables(joined: Joined) -> list[Table]:
    """Seconds per sub-graph, ratios to GVDN, accuracy and entropy."""

    def paper(runs: Runs, metric: str) -> float | None:
        return _printed(joined, runs.row.method, runs.dataset)

    return [
        grid(joined, "seconds_each", paper, NOTE, folded=False),
        ratio_table(joined),
        grid(joined, "accuracy", folded=False),
        grid(joined, "entropy", folded=False),
    ]


def ratio_table(joined: Joined) -> Table:
    """How many times longer the other methods take than GVDN, and how many times they do in the paper."""
    others = [row.method for row in joined.spec.rows if row.method != "gvdn"]
    datasets = list(joined.spec.datasets)
    lines = [Line(method, [_ratio_entry(joined, method, dataset) for dataset in datasets]) for method in others]
    note = "Ratio of the means over the seeds."
    return Table("seconds per sub-graph, times those of gvdn", datasets, lines, note)


def times_slower(joined: Joined, method: str, dataset: str) -> float | None:
    """Mean seconds per sub-graph over those of GVDN, on seeds that both have of the same device, two at least."""
    theirs, ours = (joined.find(dataset, "streamed", method=one) for one in (method, "gvdn"))
    if theirs is None or ours is None:
        return None
    seeds = same_device(theirs, ours)
    a, b = (fmean([runs.values("seconds_each")[seed] for seed in seeds] or [0.0]) for runs in (theirs, ours))
    return a / b if len(seeds) > 1 and b else None


def _ratio_entry(joined: Joined, method: str, dataset: str) -> Entry:
    ours = times_slower(joined, method, dataset)
    printed = [_printed(joined, one, dataset) for one in (method, "gvdn")]
    small = f"paper {number(printed[0] / printed[1])}" if printed[0] and printed[1] else ""
    return Entry(NOT_RUN if ours is None else f"{number(ours)} ×", small)


def _printed(joined: Joined, method: str, dataset: str) -> float | None:
    printed = joined.spec.paper.get(method, {}).get(dataset)
    return None if printed is None else float(printed)
