"""Table 2 beside the paper's: GVDN under each perturbation, before and after recovery."""

from __future__ import annotations

from typing import Any

from gvdn.reports.compare import METRICS, SCORES, finished_datasets, why_empty
from gvdn.reports.joined import Joined
from gvdn.reports.tables import Entry, Line, Table, compared, number

PRINTED = {"random-connections": "rdmPert", "information-sparsity": "infoSparse", "nettack": "advAttack"}
"""Our perturbations -> the paper's words for them."""

STATES = {
    "clean": ("recovered", "clean "),
    "perturbed": ("afterwards", ""),
    "recovered": ("recovered", ""),
    "unseen": ("recovered, victims unseen", ""),
    "trained anew": ("in training", ""),
}
"""Column of Table 2 -> the mode it is read from, and what stands before the metric's name. Clean is that of the very
fit that recovered; where nothing recovers, of the one that was asked afterwards."""

NOTE = (
    "Clean: the same victims before the perturbation. Perturbed: fitted on the clean graph, asked on the perturbed "
    "one. Unseen: recovered with nothing stored of the victims. Trained anew: the GCN, which cannot recover, fitted on "
    "the perturbed graph. The paper's numbers are all of GVDN; it prints one clean value per dataset, and its "
    "infoSparse stands beside both readings of it."
)


def table2(joined: Joined) -> list[Table]:
    """One table per metric: perturbation by perturbation, the states on each dataset."""

    def table(metric: str) -> Table:
        lines = [
            Line(dataset, [_entry(joined, row, dataset, state, metric) for state in STATES], row.label)
            for row in joined.spec.rows
            for dataset in joined.spec.datasets
            if not row.datasets or dataset in row.datasets
        ]
        first = metric == "accuracy"
        return Table(METRICS[metric][0], list(STATES), lines, NOTE if first else "", folded=not first)

    return [table(metric) for metric in SCORES]


def compact_table2(joined: Joined) -> Table:
    """Accuracy of GVDN for a README: a line per perturbation and state, the paper's value in parentheses."""
    datasets, lines = finished_datasets(joined), []
    for row in (row for row in joined.spec.rows if row.method == "gvdn"):
        for state in ("clean", "perturbed", "recovered", "unseen"):
            if any(joined.find(dataset, STATES[state][0], label=row.label) for dataset in datasets):
                entries = [_short(joined, row, dataset, state) for dataset in datasets]
                lines.append(Line(state, entries, row.label))
    note = "Mean ± standard deviation over the seeds, on the victims. Unseen: nothing was stored of them."
    return Table("Table 2: accuracy in % of GVDN", datasets, lines, note)


def _short(joined: Joined, row: Any, dataset: str, state: str) -> Entry:
    ours = _entry(joined, row, dataset, state, "accuracy", with_paper=False)
    paper = _paper(joined, row, dataset, state, "accuracy")
    return Entry(ours.text, ", ".join(filter(None, [ours.small, "" if paper is None else number(paper, 2)])))


def _entry(joined: Joined, row: Any, dataset: str, state: str, metric: str, *, with_paper: bool = True) -> Entry:
    mode, before = STATES[state]
    runs = joined.find(dataset, mode, label=row.label)
    if runs is None and state == "clean":
        runs = joined.find(dataset, "afterwards", label=row.label)
    if runs is None:
        return Entry("")
    paper = _paper(joined, row, dataset, state, metric) if with_paper else None
    usual, digits = len(joined.spec.seeds), METRICS[metric][1]
    return compared(runs.summary(before + metric), paper, usual=usual, digits=digits, why=why_empty(runs))


def _paper(joined: Joined, row: Any, dataset: str, state: str, metric: str) -> float | None:
    """What the paper prints, which is GVDN's."""
    word = PRINTED.get(row.perturbation, "")
    name = {"clean": "clean", "perturbed": word, "recovered": f"{word}+retrain"}.get(state, "")
    short = {"accuracy": "acc", "entropy": "ent"}.get(metric, "")
    printed = joined.spec.paper.get(dataset, {}).get(name, {}).get(short)
    return None if printed is None or row.method != "gvdn" else float(printed[0])
