"""Table 3 beside the paper's: ten methods and four references on the same victims, and paired tests."""

from __future__ import annotations

from collections.abc import Iterable

from gvdn.reports.compare import finished_datasets, grid, why_empty
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import paired
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, beats, number

TEN = ("gcn-jaccard", "gcn-svd", "dropedge", "grand", "rgcn", "prognn", "mc-dropout", "graphss", "lindt", "gvdn")
"""The methods of the paper's Table 3."""

UNSEEN = "recovered, victims unseen"

HELD = {("snapshot", "afterwards"): "yes", ("prognn", "afterwards"): "links"}
"""What methods that do not recover hold of the clean graph: its answers, or the links that were learned on it."""

NOTES = {
    "accuracy": (
        "Afterwards: fitted on the clean graph, asked on the perturbed one. In training: fitted on the perturbed one. "
        "Recovered: fitted on the clean graph, then recovered with its stored clean answers or embeddings (the "
        "snapshot). Unseen: recovered with nothing stored of the victims. The paper does not say how its competitors "
        "met the perturbed graph, so its value stands beside every reading. Bold: the best mean of the paper's ten "
        "methods on that dataset, references and unseen aside."
    ),
    "seconds": "The paper's seconds are those of its own machine; ours are of the device named at the end, which "
    "many runs shared, and compare methods only where that is the same.",
    "peak_mib": "The most that the process had held by then; a later mode of a method includes the earlier ones.",
}


def table3(joined: Joined) -> list[Table]:
    """One table per metric: a line per method and mode, a column per dataset; the best of the ten is bold."""

    def paper(runs: Runs, metric: str) -> float | None:
        return _printed(joined, runs.dataset, runs.row.method, metric) if _the_papers_mode(joined, runs) else None

    metrics = ["accuracy", "entropy", "seconds", "peak_mib", "ece", "brier"]
    if any("peak_gpu_mib" in record for record in joined.records):
        metrics.insert(4, "peak_gpu_mib")
    bold = {"accuracy": _best(joined.runs)}
    return [
        grid(joined, metric, paper, NOTES.get(metric, ""), folded=metric != "accuracy", best=bold.get(metric))
        for metric in metrics
    ]


def compact_table3(joined: Joined) -> Table:
    """Mean accuracy for a README: a line per method with one or two of its modes, the paper's value in parentheses."""
    datasets, usual, lines = finished_datasets(joined), len(joined.spec.seeds), []
    best = _best(one for one in joined.runs if one.mode in _main_modes(joined, one.row.method))

    def entry(method: str, dataset: str) -> Entry:
        found = [joined.find(dataset, mode, method=method) for mode in _main_modes(joined, method)]
        words = [_short(runs, usual, bold=best.get(dataset) is runs) for runs in found if runs]
        paper = _printed(joined, dataset, method, "accuracy")
        return Entry(" · ".join(words), "" if paper is None else number(paper, 2))

    for method in distinct(row.method for row in joined.spec.rows):
        modes = _main_modes(joined, method)
        how = " · ".join({UNSEEN: "unseen"}.get(mode, mode) for mode in modes)
        had = ["yes" if mode == "recovered" else HELD.get((method, mode), "no") for mode in modes]
        snapshot = Entry(" · ".join(had if len(set(had)) > 1 else had[:1]))
        lines.append(Line(method, [Entry(how), snapshot, *(entry(method, dataset) for dataset in datasets)]))
    note = (
        "Mean over the seeds, on the victims; the paper's value in parentheses. Afterwards: fitted on the clean graph, "
        "asked on the perturbed one. In training: fitted on the perturbed one. Unseen: recovered with nothing stored "
        "of the victims. Snapshot: whether clean answers, embeddings or links of the victims were at hand. Bold: "
        "the best of the paper's ten methods, unseen aside. †: fewer seeds than asked for."
    )
    return Table("Table 3: accuracy in % under random connections", ["how", "snapshot", *datasets], lines, note)


def best_mode(joined: Joined, method: str, dataset: str) -> Runs | None:
    """The mode of a method with the highest mean accuracy."""
    found = [
        (summary.mean, place, runs)
        for place, runs in enumerate(joined.runs)
        if runs.row.method == method and runs.dataset == dataset
        if (summary := runs.summary("accuracy")) is not None
    ]
    return max(found, key=lambda one: (one[0], -one[1]))[2] if found else None


def paired_tests(joined: Joined) -> Table:
    """GVDN recovered minus the best mode of every other method, on the same seeds and victims."""
    datasets, lines = list(joined.spec.datasets), []
    for method in distinct(row.method for row in joined.spec.rows if row.method != "gvdn"):
        entries = []
        for dataset in datasets:
            ours, other = joined.find(dataset, "recovered", method="gvdn"), best_mode(joined, method, dataset)
            if ours is None or other is None:
                entries.append(Entry(NOT_RUN))
                continue
            pair = paired(ours.values("accuracy"), other.values("accuracy"))
            entries.append(beats(pair, other.mode, usual=len(joined.spec.seeds)))
        lines.append(Line(method, entries))
    note = (
        "Points of accuracy on the victims, mean over the seeds that both have, with the 95 % interval of Student's t "
        "for paired differences. The other method's mode is the one with the highest mean on these same victims, which "
        "favours it. p: exact two-sided sign-flip test; with five seeds it cannot fall below 2/32 = 0.0625, so no "
        "single comparison is below 0.05 by it. Nothing is corrected for the number of comparisons. Bold: the interval "
        "lies above 0. Marked: below 0."
    )
    return Table("GVDN recovered minus each other method at its best", datasets, lines, note)


def _printed(joined: Joined, dataset: str, method: str, metric: str) -> float | None:
    place = {"accuracy": 0, "entropy": 1, "seconds": 2}
    printed = joined.spec.paper.get(dataset, {}).get(method)
    return float(printed[place[metric]]) if printed and metric in place else None


def _the_papers_mode(joined: Joined, runs: Runs) -> bool:
    """Whether the paper's number can mean this mode: after recovery, where a method can recover."""
    if runs.mode == UNSEEN:
        return False
    recovers = joined.find(runs.dataset, "recovered", method=runs.row.method) is not None
    return "recovered" in runs.mode if recovers else True


def _best(candidates: Iterable[Runs]) -> dict[str, Runs]:
    """Dataset -> the runs with the highest mean accuracy among the paper's ten methods, unseen victims aside."""
    best: dict[str, tuple[float, Runs]] = {}
    for runs in candidates:
        summary = runs.summary("accuracy")
        if summary is None or runs.row.method not in TEN or runs.mode == UNSEEN:
            continue
        if runs.dataset not in best or summary.mean > best[runs.dataset][0]:
            best[runs.dataset] = (summary.mean, runs)
    return {dataset: runs for dataset, (_, runs) in best.items()}


def _main_modes(joined: Joined, method: str) -> list[str]:
    """The two ways to meet the graph that say most of a method: around its recovery, if it has one."""
    asked = distinct(one.mode for one in joined.runs if one.row.method == method)
    wanted = (UNSEEN, "recovered") if "recovered" in asked else ("afterwards", "in training")
    return [mode for mode in wanted if mode in asked]


def _short(runs: Runs, usual: int, *, bold: bool) -> str:
    """The mean alone, with a sign where it is not over the usual number of seeds."""
    summary = runs.summary("accuracy")
    if summary is None:
        return why_empty(runs)
    text = number(summary.mean) + ("" if summary.n == usual else "†")
    return f"**{text}**" if bold else text
