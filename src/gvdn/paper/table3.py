"""Table 3 beside the paper's: ten methods and four references on the same victims, and paired tests."""

from collections.abc import Iterable

from gvdn.paper import COMPETITORS, DATASETS, OURS
from gvdn.paper.exhibits import EXHIBITS
from gvdn.paper.verdicts import Gap, Judged, all_parts, claim, everywhere, gap, mostly, of
from gvdn.reports.account import Study
from gvdn.reports.comparison import best_mode, best_of, difference_tables
from gvdn.reports.figures import Value
from gvdn.reports.grids import finished_datasets, grid, why_empty
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.page import Section
from gvdn.reports.pictures import bar_picture
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import Entry, Line, Table, number, titled
from gvdn.study import Mode

STORED = {("snapshot", Mode.EVASION): "yes", ("prognn", Mode.EVASION): "links"}
"""What methods that do not recover store of the clean graph: its predictions, or the links that were learned on it."""
SHORT = {Mode.WITHHELD: "withheld", Mode.POISONING_RECOVERED: "poisoning"}
"""Modes with another name in the compact table."""


def table3(joined: Joined) -> list[Table]:
    """One table for each metric: a line for each method and mode, a column for each dataset; then the differences."""

    def paper(runs: Runs, metric: str) -> float | None:
        return _printed(joined, runs.dataset, runs.row.method, metric) if _the_papers_mode(joined, runs) else None

    def judged(runs: Runs) -> bool:
        """Only the best of the modes that the paper's number can mean; the paper does not say which it is."""
        same = [one for one in joined.runs if one.row is runs.row and one.dataset == runs.dataset]
        return best_of([one for one in same if _the_papers_mode(joined, one)]) is runs

    metrics = ["accuracy", "entropy", "seconds", "peak_mib", "ece", "brier"]
    if any(record.peak_gpu_mib is not None for record in joined.records):
        metrics.insert(4, "peak_gpu_mib")
    bold = {"accuracy": _best(joined.runs)}
    found = [
        grid(joined, metric, paper, folded=metric != "accuracy", best=bold.get(metric), judged=judged)
        for metric in metrics
    ]
    return [*found, *difference_tables(joined)]


def compact_table3(joined: Joined) -> Table:
    """Mean accuracy: a line for each method with its main modes, the paper's value in parentheses."""
    datasets, lines = finished_datasets(joined), []
    best = _best(one for one in joined.runs if one.mode in _main_modes(joined, one.row.method))

    def entry(method: str, dataset: str) -> Entry:
        found = [joined.find(dataset, mode, method=method) for mode in _main_modes(joined, method)]
        words = [_short(runs, bold=best.get(dataset) is runs) for runs in found if runs]
        paper = _printed(joined, dataset, method, "accuracy")
        return Entry(" · ".join(words), "" if paper is None else number(paper, 2))

    for method in distinct(row.method for row in joined.spec.rows):
        modes = _main_modes(joined, method)
        how = " · ".join(SHORT.get(mode, mode) for mode in modes)
        had = ["yes" if mode == Mode.RECOVERED else STORED.get((method, mode), "no") for mode in modes]
        snapshot = Entry(" · ".join(had if len(set(had)) > 1 else had[:1]))
        lines.append(Line(method, [Entry(how), snapshot, *(entry(method, dataset) for dataset in datasets)]))
    columns = ["how", "snapshot", *map(titled, datasets)]
    return Table("Table 3: accuracy in % under random connections", columns, lines, joined.spec.notes["compact"])


def picture(joined: Joined) -> str:
    """Five bars for each dataset: GVDN recovered and withheld, the best of its nine competitors, two references."""
    series: dict[str, list[Value | None]] = {}
    for dataset in finished_datasets(joined):
        rivals = [runs for method in COMPETITORS if (runs := best_mode(joined, method, dataset))]
        shown = {
            "gvdn, recovered": joined.find(dataset, Mode.RECOVERED, method=OURS),
            "gvdn, withheld": joined.find(dataset, Mode.WITHHELD, method=OURS),
            "the best of the other nine": best_of(rivals),
            "gcn-retrained": joined.find(dataset, Mode.POISONING, method="gcn-retrained"),
            "gcn, evasion": joined.find(dataset, Mode.EVASION, method="gcn"),
        }
        for name, runs in shown.items():
            series.setdefault(name, []).append(mean_and_std(runs.summary("accuracy")) if runs else None)
    return bar_picture(joined, {"accuracy on the victims": series})


@claim(4, "Table 3", "GVDN has the best accuracy of the ten on every dataset.")
def best_of_ten(study: Study) -> Judged:
    """GVDN recovered minus each of the nine in the mode with its highest mean, paired by seed, on five graphs. Holds if
    every mean is above 0; does not hold if some 95 % interval lies below 0. References do not count, nor does
    a method on a graph where all of its runs failed or none was asked for."""
    table = of(study, "table3")
    gaps: list[Gap] = []
    left_out: list[str] = []
    for dataset in DATASETS:
        ours = table.find(dataset, Mode.RECOVERED, method=OURS)
        for method in COMPETITORS:
            if _could_not_run(table, method, dataset):
                left_out.append(f"{method} on {dataset}")
                continue
            gaps.append(gap(f"{method} on {dataset}", ours, best_mode(table, method, dataset)))
    verdict, numbers = everywhere(gaps)
    return verdict, numbers + (f". Failed or not asked for: {', '.join(left_out)}" if left_out else "")


@claim(5, "Table 3", "MCMC methods (GraphSS, LInDT) have lower entropy but a longer runtime.")
def mcmc_is_sure_and_slow(study: Study) -> Judged:
    """GraphSS and LInDT recovered beside GVDN recovered on five graphs. Holds if their entropy is lower in more than
    half of the ten pairs and their seconds (fit, recover, predict) are more in more than half; seconds are compared on
    the same device only."""
    table = of(study, "table3")
    pairs = [(method, dataset) for dataset in DATASETS for method in ("graphss", "lindt")]
    entropy, seconds = [], []
    for method, dataset in pairs:
        theirs, ours = (table.find(dataset, Mode.RECOVERED, method=one) for one in (method, OURS))
        entropy.append(gap(f"{method} on {dataset}", ours, theirs, "entropy"))
        seconds.append(gap(f"{method} on {dataset}", theirs, ours, "seconds"))
    return all_parts([mostly(entropy, "entropy lower"), mostly(seconds, "runtime longer")])


def _printed(joined: Joined, dataset: str, method: str, metric: str) -> float | None:
    position = {"accuracy": 0, "entropy": 1, "seconds": 2}
    printed = joined.spec.published.get(dataset, {}).get(method)
    return float(printed[position[metric]]) if printed and metric in position else None


def _the_papers_mode(joined: Joined, runs: Runs) -> bool:
    """Whether the paper's number can mean this mode: after recovery, where a method can recover."""
    if joined.find(runs.dataset, Mode.RECOVERED, method=runs.row.method) is None:
        return True
    return runs.mode in (Mode.RECOVERED, Mode.POISONING_RECOVERED)


def _best(candidates: Iterable[Runs]) -> dict[str, Runs]:
    """Dataset -> the runs with the highest mean accuracy among the paper's ten methods, without withheld victims."""
    counted: dict[str, list[Runs]] = {}
    for one in candidates:
        if one.row.method in (*COMPETITORS, OURS) and one.mode != Mode.WITHHELD:
            counted.setdefault(one.dataset, []).append(one)
    return {dataset: best for dataset, runs in counted.items() if (best := best_of(runs))}


def _main_modes(joined: Joined, method: str) -> list[Mode]:
    """The modes of a method in the compact table: for one that recovers also withheld, and none before it did."""
    asked = {one.mode for one in joined.runs if one.row.method == method}
    recovers = Mode.RECOVERED in asked
    wanted = (Mode.WITHHELD, Mode.RECOVERED, Mode.POISONING_RECOVERED) if recovers else (Mode.EVASION, Mode.POISONING)
    return [mode for mode in wanted if mode in asked]


def _short(runs: Runs, *, bold: bool) -> str:
    """The mean alone, with a sign where it is not over all seeds that were asked for."""
    summary = runs.summary("accuracy")
    if summary is None:
        return why_empty(runs)
    text = number(summary.mean) + ("" if summary.n == runs.asked else "†")
    return f"**{text}**" if bold else text


def _could_not_run(table: Joined, method: str, dataset: str) -> bool:
    """Whether a method has no number there and no run is missing."""
    mine = [one for one in table.runs if one.row.method == method and one.dataset == dataset]
    return not any(one.records or one.missing for one in mine)


EXHIBITS.add("table3", lambda joined: Section(joined.spec, table3(joined), [(picture(joined), "")]))
