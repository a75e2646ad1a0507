"""The paper's tables beside ours, from joined records."""

from __future__ import annotations

from collections.abc import Callable

from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import Summary, paired
from gvdn.reports.tables import NOT_ASKED, NOT_RUN, Entry, Line, Table, beats, compared

METRICS = {
    "accuracy": ("accuracy in %", 1),
    "entropy": ("normalised entropy in %", 1),
    "ece": ("expected calibration error in %", 1),
    "brier": ("Brier score", 2),
    "seconds": ("seconds: fit + recover + answer", 1),
    "peak_mib": ("peak memory of the process in MiB", 0),
    "peak_gpu_mib": ("peak GPU memory in MiB", 0),
}

PRINTED = {"random-connections": "rdmPert", "information-sparsity": "infoSparse", "nettack": "advAttack"}
"""Our perturbations -> the paper's words for them."""

STATES = {
    "clean": ("afterwards", "clean "),
    "perturbed": ("afterwards", ""),
    "recovered": ("recovered", ""),
    "unseen": ("recovered, victims unseen", ""),
}
"""Column of Table 2 -> the mode it is read from, and what stands before the metric's name."""

TEN = ("gcn-jaccard", "gcn-svd", "dropedge", "grand", "rgcn", "prognn", "mc-dropout", "graphss", "lindt", "gvdn")
"""The methods of the paper's Table 3."""


def tables(joined: Joined) -> list[Table]:
    """Every table of a spec."""
    if joined.spec.name == "table2":
        return table2(joined)
    if joined.spec.name == "table3":
        return [*table3(joined), paired_tests(joined)]
    return plain(joined)


def table2(joined: Joined) -> list[Table]:
    """One table per metric: perturbation by perturbation, clean, perturbed, recovered and unseen on each dataset."""
    spec = joined.spec

    def entry(row_label: str, perturbation: str, dataset: str, state: str, metric: str) -> Entry:
        mode, before = STATES[state]
        runs = joined.find(dataset, mode, label=row_label)
        if runs is None:
            return Entry("" if state == "unseen" else NOT_ASKED)
        paper = _paper_of_table2(joined, dataset, perturbation, state, metric)
        return compared(
            runs.summary(before + metric), paper, usual=len(spec.seeds), digits=METRICS[metric][1], why=_why(runs)
        )

    def table(metric: str, folded: bool) -> Table:
        lines = [
            Line(dataset, [entry(row.label, row.perturbation, dataset, state, metric) for state in STATES], row.label)
            for row in spec.rows
            for dataset in spec.datasets
            if not row.datasets or dataset in row.datasets
        ]
        return Table(METRICS[metric][0], list(STATES), lines, folded=folded)

    note = (
        "Clean: the same victims before the perturbation. Perturbed: fitted on the clean graph, asked on the perturbed "
        "one. Unseen: recovered with nothing stored of the victims. The paper prints one clean value per dataset; "
        "its infoSparse stands beside both readings of it."
    )
    first, *others = [table(metric, metric != "accuracy") for metric in ("accuracy", "entropy", "ece", "brier")]
    return [Table(first.title, first.columns, first.lines, note), *others]


def _paper_of_table2(joined: Joined, dataset: str, perturbation: str, state: str, metric: str) -> float | None:
    word = PRINTED.get(perturbation, "")
    name = {"clean": "clean", "perturbed": word, "recovered": f"{word}+retrain"}.get(state, "")
    printed = (
        joined.spec.paper.get(dataset, {}).get(name, {}).get({"accuracy": "acc", "entropy": "ent"}.get(metric, ""))
    )
    return None if printed is None else float(printed[0])


def table3(joined: Joined) -> list[Table]:
    """One table per metric: a line per method and mode, a column per dataset; the best of the ten is bold."""
    place = {"accuracy": 0, "entropy": 1, "seconds": 2}

    def paper(runs: Runs, metric: str) -> float | None:
        printed = joined.spec.paper.get(runs.dataset, {}).get(runs.row.method)
        fits = _the_papers_mode(joined, runs)
        return float(printed[place[metric]]) if printed and fits and metric in place else None

    note = (
        "Afterwards: fitted on the clean graph, asked on the perturbed one. In training: fitted on the perturbed one. "
        "Recovered: fitted on the clean graph, then recovered with its stored clean answers or embeddings (the "
        "snapshot). Unseen: recovered with nothing stored of the victims. The paper does not say how its competitors "
        "met the perturbed graph, so its value stands beside every reading. Bold: the best mean of the paper's ten "
        "methods on that dataset, references and unseen aside."
    )
    notes = {
        "accuracy": note,
        "seconds": "The paper's seconds are those of its own machine; ours are of the device named at the end.",
        "peak_mib": "The most that the process had held by then; a later mode of a method includes the earlier ones.",
    }
    metrics = ["accuracy", "entropy", "seconds", "peak_mib", "ece", "brier"]
    if any("peak_gpu_mib" in record for record in joined.records):
        metrics.insert(4, "peak_gpu_mib")
    return [_grid(joined, metric, paper, notes.get(metric, ""), folded=metric != "accuracy") for metric in metrics]


def _the_papers_mode(joined: Joined, runs: Runs) -> bool:
    """Whether the paper's number can mean this mode: after recovery, where a method can recover."""
    if runs.mode == "recovered, victims unseen":
        return False
    recovers = joined.find(runs.dataset, "recovered", method=runs.row.method) is not None
    return "recovered" in runs.mode if recovers else True


def plain(joined: Joined) -> list[Table]:
    """One table per metric: a line per row and mode, a column per dataset; a sweep's numbers are folded."""
    long = len(joined.spec.rows) > 4
    return [
        _grid(joined, metric, folded=long or metric != "accuracy") for metric in ("accuracy", "entropy", "ece", "brier")
    ]


def _grid(
    joined: Joined,
    metric: str,
    paper: Callable[[Runs, str], float | None] = lambda runs, metric: None,
    note: str = "",
    *,
    folded: bool,
) -> Table:
    datasets = list(joined.spec.datasets)
    title, digits = METRICS[metric]
    best = _best(joined, metric) if joined.spec.name == "table3" and metric == "accuracy" else {}
    lines, alone = [], len({one.mode for one in joined.runs}) == 1
    for label, mode in distinct((one.row.label, one.mode) for one in sorted(joined.runs, key=_row_order(joined))):
        found = [joined.find(dataset, mode, label=label) for dataset in datasets]
        entries = [
            Entry(NOT_ASKED)
            if runs is None
            else compared(
                runs.summary(metric),
                paper(runs, metric),
                usual=len(joined.spec.seeds),
                digits=digits,
                best=best.get(runs.dataset) is runs,
                why=_why(runs),
            )
            for runs in found
        ]
        lines.append(Line(label, entries) if alone else Line(mode, entries, label))
    title += f", {joined.runs[0].mode}" if alone else ""
    return Table(title, datasets, lines, note, folded=folded)


def _row_order(joined: Joined) -> Callable[[Runs], int]:
    order = {id(row): place for place, row in enumerate(joined.spec.rows)}
    return lambda one: order[id(one.row)]


def _best(joined: Joined, metric: str) -> dict[str, Runs]:
    """Dataset -> the runs with the highest mean among the paper's ten methods, unseen victims aside."""
    best: dict[str, tuple[float, Runs]] = {}
    for runs in joined.runs:
        summary = runs.summary(metric)
        if summary is None or runs.row.method not in TEN or runs.mode == "recovered, victims unseen":
            continue
        if runs.dataset not in best or summary.mean > best[runs.dataset][0]:
            best[runs.dataset] = (summary.mean, runs)
    return {dataset: runs for dataset, (_, runs) in best.items()}


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


def _why(runs: Runs) -> str:
    """What stands where there is no number."""
    return "failed" if runs.errors else NOT_RUN


def mean_and_std(summary: Summary | None) -> tuple[float, float] | None:
    return None if summary is None else (summary.mean, summary.std or 0.0)
