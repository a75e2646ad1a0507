"""The streaming table: seconds per sub-graph, and how many times those of GVDN."""

from statistics import fmean

from gvdn.paper import DATASETS, OURS
from gvdn.paper.exhibits import EXHIBITS
from gvdn.paper.verdicts import Judged, all_hold, all_parts, claim, of
from gvdn.reports.account import Study
from gvdn.reports.grids import grid
from gvdn.reports.joined import Joined, Runs, same_device
from gvdn.reports.page import Section
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, number
from gvdn.study import Mode

MAGNITUDE = 10.0
"""An order of magnitude."""


def streaming_tables(joined: Joined) -> list[Table]:
    """Seconds per sub-graph, ratios to GVDN, accuracy and entropy."""

    def paper(runs: Runs, metric: str) -> float | None:
        return _printed(joined, runs.row.method, runs.dataset)

    return [
        grid(joined, "seconds_each", paper, folded=False),
        ratio_table(joined),
        grid(joined, "accuracy", folded=False),
        grid(joined, "entropy", folded=False),
    ]


def ratio_table(joined: Joined) -> Table:
    """How many times longer the other methods take than GVDN, and how many times they do in the paper."""
    others = [row.method for row in joined.spec.rows if row.method != OURS]
    datasets = list(joined.spec.datasets)
    lines = [Line(method, [_ratio_entry(joined, method, dataset) for dataset in datasets]) for method in others]
    return Table("seconds per sub-graph, times those of gvdn", datasets, lines, "Ratio of the means over the seeds.")


def times_slower(joined: Joined, method: str, dataset: str) -> float | None:
    """Mean seconds per sub-graph divided by those of GVDN, on the seeds that both have of the same device; None for
    fewer than two such seeds."""
    theirs, ours = (joined.find(dataset, Mode.STREAMED, method=one) for one in (method, OURS))
    if theirs is None or ours is None:
        return None
    seeds = same_device(theirs, ours)
    a, b = (fmean([runs.values("seconds_each")[seed] for seed in seeds] or [0.0]) for runs in (theirs, ours))
    return a / b if len(seeds) > 1 and b else None


@claim(12, "Streaming table", "Average time per sub-graph is an order of magnitude below GraphSS and LInDT.")
def streaming_is_fast(study: Study) -> Judged:
    """Mean seconds per sub-graph after the fit, GraphSS and LInDT over GVDN, on five graphs. Holds if all ten ratios
    are at least 10; does not hold if some is below."""
    table = of(study, "streaming")
    return all_parts(_slower(table, method) for method in ("graphss", "lindt"))


def _slower(table: Joined, method: str) -> Judged:
    """Whether a method takes ten times as long as GVDN on all graphs, and how many times on each."""
    ratios = {dataset: times_slower(table, method, dataset) for dataset in DATASETS}
    words = ", ".join(f"{d} {NOT_RUN if ratio is None else number(ratio)}" for d, ratio in ratios.items())
    slower = all_hold(None if ratio is None else ratio >= MAGNITUDE for ratio in ratios.values())
    return slower, f"{method} over gvdn: {words}"


def _ratio_entry(joined: Joined, method: str, dataset: str) -> Entry:
    ours = times_slower(joined, method, dataset)
    printed = [_printed(joined, one, dataset) for one in (method, OURS)]
    small = f"paper {number(printed[0] / printed[1])}" if printed[0] and printed[1] else ""
    return Entry(NOT_RUN if ours is None else f"{number(ours)} ×", small)


def _printed(joined: Joined, method: str, dataset: str) -> float | None:
    printed = joined.spec.published.get(method, {}).get(dataset)
    return None if printed is None else float(printed)


EXHIBITS.add("streaming", lambda joined: Section(joined.spec, streaming_tables(joined)))
