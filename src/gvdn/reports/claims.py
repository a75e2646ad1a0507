"""The paper's fifteen claims, each judged from records by the rule in its docstring: here those about its tables."""

from __future__ import annotations

from gvdn.reports import figure_claims as figures
from gvdn.reports.joined import PAPER_DATASETS, Joined
from gvdn.reports.streaming import times_slower
from gvdn.reports.table3 import TEN, best_mode
from gvdn.reports.tables import NOT_RUN, number
from gvdn.reports.verdicts import (
    Claim,
    Gap,
    Judged,
    Study,
    Verdict,
    all_parts,
    as_part,
    claim,
    everywhere,
    gap,
    helps,
    listed,
    mostly,
    of,
)

MAGNITUDE = 10.0
"""An order of it."""


def judge(study: Study) -> list[Claim]:
    """Every claim with its verdict."""
    return [one(study) for one in CLAIMS]


@claim(1, "Table 2", "Recovery lifts accuracy in all 18 cells.")
def recovery_lifts(study: Study) -> Judged:
    """Recovered minus perturbed accuracy, paired by seed, in 20 cells: four perturbations (sparsity in both readings)
    on the paper's five graphs that are here. Holds if every mean is above 0; does not hold if some 95 % interval lies
    below 0."""
    return everywhere(_cells(of(study, "table2"), "accuracy", "afterwards"))


@claim(2, "Table 2", "Recovered accuracy exceeds the clean accuracy in some cells.")
def better_than_clean(study: Study) -> Judged:
    """Recovered minus clean accuracy on the same victims, in the same 20 cells. Holds if some 95 % interval lies above
    0; does not hold if all cells are there and every interval lies below one point."""
    gaps = _cells(of(study, "table2"), "accuracy", "recovered", "clean accuracy")
    found = [one for one in gaps if one.difference is not None]
    sure = [one for one in found if one.difference is not None and one.difference.above_zero]
    up = sum(one.difference is not None and one.difference.mean > 0 for one in found)
    numbers = f"mean above the clean one in {up} of {len(found)} cells"
    if sure:
        return "holds", f"{numbers}, with the whole 95 % interval: {listed(sure)}"
    slight = all(one.difference is not None and helps(one.difference) is False for one in gaps)
    verdict: Verdict = "does not hold" if slight else "cannot be told"
    return verdict, f"{numbers}, with the whole 95 % interval in none"


@claim(3, "Table 2", "Entropy after retraining is below the clean entropy in most cells.")
def entropy_falls(study: Study) -> Judged:
    """Clean minus recovered entropy on the same victims, in the same 20 cells. Holds if more than half of the means
    are above 0."""
    gaps = _cells(of(study, "table2"), "entropy", "recovered", "clean entropy", upside_down=True)
    return mostly(gaps, "recovered entropy below the clean one")


@claim(4, "Table 3", "GVDN has the best accuracy of the ten on every dataset.")
def best_of_ten(study: Study) -> Judged:
    """GVDN recovered minus each of the nine at the mode with its highest mean, paired by seed, on five graphs. Holds if
    every mean is above 0; does not hold if some 95 % interval lies below 0. References do not count, nor does
    a method on a graph where all of its runs failed or none was asked for."""
    table = of(study, "table3")
    gaps: list[Gap] = []
    left_out: list[str] = []
    for dataset in PAPER_DATASETS:
        ours = table.find(dataset, "recovered", method="gvdn")
        for method in TEN[:-1]:
            if _could_not_run(table, method, dataset):
                left_out.append(f"{method} on {dataset}")
                continue
            gaps.append(gap(f"{method} on {dataset}", ours, best_mode(table, method, dataset)))
    verdict, numbers = everywhere(gaps)
    return verdict, numbers + (f". Failed or not asked for: {', '.join(left_out)}" if left_out else "")


@claim(5, "Table 3", "MCMC methods (GraphSS, LInDT) have lower entropy but a longer runtime.")
def mcmc_is_sure_and_slow(study: Study) -> Judged:
    """GraphSS and LInDT recovered beside GVDN recovered on five graphs. Holds if their entropy is lower in more than
    half of the ten pairs and their seconds (fit, recover, answer) are more in more than half; seconds are compared on
    the same device only."""
    table = of(study, "table3")
    pairs = [(method, dataset) for dataset in PAPER_DATASETS for method in ("graphss", "lindt")]
    entropy, seconds = [], []
    for method, dataset in pairs:
        theirs, ours = (table.find(dataset, "recovered", method=one) for one in (method, "gvdn"))
        entropy.append(gap(f"{method} on {dataset}", ours, theirs, "entropy"))
        seconds.append(gap(f"{method} on {dataset}", theirs, ours, "seconds"))
    return all_parts([as_part(mostly(entropy, "entropy lower")), as_part(mostly(seconds, "runtime longer"))])


@claim(12, "Streaming table", "Average time per sub-graph is an order of magnitude below GraphSS and LInDT.")
def streaming_is_fast(study: Study) -> Judged:
    """Mean seconds per sub-graph after the fit, GraphSS and LInDT over GVDN, on five graphs. Holds if all ten ratios
    are at least 10; does not hold if some is below."""
    table = of(study, "streaming")
    return all_parts(_slower(table, method) for method in ("graphss", "lindt"))


CLAIMS = (
    recovery_lifts,
    better_than_clean,
    entropy_falls,
    best_of_ten,
    mcmc_is_sure_and_slow,
    figures.noise_hurts,
    figures.diffusion_is_needed,
    figures.samplers_help,
    figures.losses_converge,
    figures.printed_rate_is_best,
    figures.cross_entropy_is_needed,
    streaming_is_fast,
    figures.noise_keeps_entropy_low,
    figures.few_labels_are_enough,
    figures.classes_separate,
)


def _cells(
    table: Joined, metric: str, other_mode: str, other: str | None = None, *, upside_down: bool = False
) -> list[Gap]:
    """Recovered minus something else in every cell of GVDN in Table 2, or the other way round."""
    gaps = []
    for row in (row for row in table.spec.rows if row.method == "gvdn"):
        for dataset in PAPER_DATASETS:
            ours, theirs = (table.find(dataset, mode, label=row.label) for mode in ("recovered", other_mode))
            name = f"{row.label} on {dataset}"
            one = (
                gap(name, theirs, ours, other or metric, metric)
                if upside_down
                else gap(name, ours, theirs, metric, other)
            )
            gaps.append(one)
    return gaps


def _could_not_run(table: Joined, method: str, dataset: str) -> bool:
    """Whether a method has no number there and none is to come."""
    mine = [one for one in table.runs if one.row.method == method and one.dataset == dataset]
    return not any(one.records or one.missing for one in mine)


def _slower(table: Joined, method: str) -> tuple[bool | None, str]:
    """Whether a method takes ten times as long as GVDN on all graphs, and how many times on each."""
    ratios = {dataset: times_slower(table, method, dataset) for dataset in PAPER_DATASETS}
    words = ", ".join(f"{d} {NOT_RUN if ratio is None else number(ratio)}" for d, ratio in ratios.items())
    known = [ratio for ratio in ratios.values() if ratio is not None]
    if min(known, default=MAGNITUDE) < MAGNITUDE:
        return False, f"{method} over gvdn: {words}"
    return (True if len(known) == len(ratios) else None), f"{method} over gvdn: {words}"
