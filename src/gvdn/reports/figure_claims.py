"""The paper's claims about its figures, each judged from records by the rule in its docstring."""

from __future__ import annotations

from gvdn.reports.figures import LOSS_NAMES
from gvdn.reports.joined import PAPER_DATASETS, Joined, Runs, distinct
from gvdn.reports.losses import movements
from gvdn.reports.statistics import paired, summarise
from gvdn.reports.tables import number, percent, signed
from gvdn.reports.verdicts import (
    Judged,
    NotRun,
    Study,
    all_parts,
    claim,
    everywhere,
    gap,
    interval,
    known,
    mean,
    mostly,
    of,
)

COLLAPSE = 20.0
"""Points of accuracy whose loss is called a collapse."""
CLOSE = 5.0
"""Points of accuracy within which a method is said to hold."""
SLIGHT = 1.0
"""Points of accuracy below which nothing is said to help."""
SETTLED = 5.0
"""Per cent of its range by which a loss may still move and be said to have converged."""


@claim(6, "Figure 2", "Noise in the hidden layer degrades four GNNs, sharply above 90 %; the vanilla encoder holds.")
def noise_hurts(study: Study) -> Judged:
    """On Cora. Holds if each GNN loses accuracy from weight 0 to 1 (the whole 95 % interval), loses more from 0.9 to 1
    than from 0 to 0.9, and the vanilla encoder is at most 5 points below the GCN without noise."""
    figure, dataset = of(study, "figure2"), "cora"
    parts: list[tuple[bool | None, str]] = []
    for name in ("gcn", "sage", "sgc", "gat"):
        at = {w: figure.find(dataset, "clean", aggregator=name, noise_weight=w) for w in (0.0, 0.9, 1.0)}
        start, late, end = (mean(at[weight]) for weight in (0.0, 0.9, 1.0))
        lost, early, end = known(gap(name, at[0.0], at[1.0])), start - late, late - end
        shown = f"{name} loses {number(lost.mean)}{interval(lost)}"
        parts.append((lost.above_zero and end > early, f"{shown}, {number(end)} of it above weight 0.9"))
    vanilla, plain = (
        figure.find(dataset, "clean", method="gvdn"),
        mean(figure.find(dataset, "clean", aggregator="gcn", noise_weight=0.0)),
    )
    parts.append(
        (mean(vanilla) >= plain - CLOSE, f"vanilla {number(mean(vanilla))}, gcn without noise {number(plain)}")
    )
    return all_parts(parts)


@claim(7, "Figure 3", "Without diffusion recovery fails on Cora and Citeseer at 1 %; with it, it works everywhere.")
def diffusion_is_needed(study: Study) -> Judged:
    """Recovery works where it regains at least half of the accuracy that the perturbation took, by means. Holds if it
    works with diffusion on five graphs at 1 % and 5 %, and does not without on Cora and Citeseer at 1 %."""
    figure = of(study, "figure3")
    asked = [(False, 0.01, dataset) for dataset in ("cora", "citeseer")]
    asked += [(True, rate, dataset) for rate in (0.01, 0.05) for dataset in PAPER_DATASETS]
    parts: list[tuple[bool | None, str]] = []
    for diffusion, rate, dataset in asked:
        words = f"{'with' if diffusion else 'without'} diffusion, {percent(rate)}: {dataset}"
        try:
            share = _regained(figure, dataset, rate, diffusion)
        except NotRun:
            parts.append((None, f"{words} not run"))
            continue
        parts.append(((share >= 0.5) is diffusion, f"{words} regains {percent(share)}"))
    return all_parts(parts)


@claim(8, "Figure 4", "All three samplers help over none.")
def samplers_help(study: Study) -> Judged:
    """Recovered accuracy of each sampler minus none, paired by seed, on five graphs. Holds if all 15 means are above 0;
    does not hold if some 95 % interval lies below 0, or if no more than half of the means are above 0."""
    figure = of(study, "figure4")
    gaps = []
    for dataset in PAPER_DATASETS:
        none = figure.find(dataset, "recovered", sampler="none")
        for name in ("random", "major", "degree"):
            gaps.append(gap(f"{name} on {dataset}", figure.find(dataset, "recovered", sampler=name), none))
    verdict, numbers = everywhere(gaps)
    few = mostly(gaps, "")[0] == "does not hold"
    return ("does not hold" if few else verdict), numbers


@claim(9, "Figure 7", "Each loss converges in training and in retraining.")
def losses_converge(study: Study) -> Judged:
    """On Cora. How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, as a share
    of its range (largest minus smallest) over the run; a loss that never moves has converged. Holds if the mean over
    the seeds is at most 5 % for every loss of both stages; does not hold if for some it is more."""
    moved = {f"{LOSS_NAMES[name]} in {stage}": one for (stage, name), one in movements(of(study, "figure7")).items()}
    if any(one.n < 2 for one in moved.values()):
        raise NotRun("fewer than two seeds of figure7")
    late = [f"{name} {number(one.mean)} %" for name, one in moved.items() if one.mean > SETTLED]
    most = max(moved, key=lambda name: moved[name].mean)
    numbers = (
        f"{len(moved) - len(late)} of {len(moved)} losses move by at most {SETTLED:.0f} % of their range at the end"
    )
    numbers += f"; not {', '.join(late)}" if late else f", the most {most} with {number(moved[most].mean)} %"
    return ("does not hold" if late else "holds"), numbers


@claim(10, "Figure 8", "The best γ_min of each dataset is the printed one.")
def printed_rate_is_best(study: Study) -> Judged:
    """By validation accuracy where the records have it, else by recovered accuracy on the victims. Holds if the printed
    value has the highest mean on five graphs; does not hold if on some another beats it with the whole 95 % interval of
    the paired difference."""
    figure = of(study, "figure8")
    parts: list[tuple[bool | None, str]] = []
    for dataset in PAPER_DATASETS:
        by, mine = _rates(figure, dataset)
        metric = by.split()[-1]
        wanted = figure.spec.paper.get("gamma_min", {}).get(dataset)
        printed = next((one for one in mine if one.row.settings["gamma_min"] == wanted), None)
        if printed is None:
            parts.append((None, f"{dataset}: the printed value was not run"))
            continue
        means = [mean(one, metric) for one in mine]
        best = mine[means.index(max(means))]
        rate, lead = best.row.settings["gamma_min"], known(gap(f"{dataset}, best and printed", best, printed, metric))
        words = f"printed {printed.row.settings['gamma_min']}, best {rate}"
        words += "" if best is printed else f" ({signed(lead.mean)}{interval(lead)})"
        verdict = True if best is printed else (False if lead.above_zero else None)
        parts.append((verdict, f"{dataset}, by {by}: {words}"))
    return all_parts(parts)


@claim(11, "Figure 9", "Muting L_ce collapses accuracy; more L_nm helps.")
def cross_entropy_is_needed(study: Study) -> Judged:
    """On Cora. Holds if recovered accuracy at λ_ce = 0 is more than 20 points below that at 1 (whole 95 % interval),
    and at λ_nm = 5 above that at 0 (whole interval). More L_nm does not help if its gain stays below one point (whole
    interval); anything between cannot be told."""
    figure = of(study, "figure9")
    at = {(n, w): figure.find("cora", "recovered", **{n: w}) for n, w in _WEIGHTS}
    lost = gap("λ_ce 1 minus 0:", at["lambda_ce", 1.0], at["lambda_ce", 0.0])
    more = gap("λ_nm 5 minus 0:", at["lambda_nm", 5.0], at["lambda_nm", 0.0])
    loss, gain = known(lost), known(more)
    sharply = loss.low is not None and loss.low > COLLAPSE
    helps = False if gain.high is not None and gain.high < SLIGHT and not gain.above_zero else gain.positive
    return all_parts([(sharply, str(lost)), (helps, str(more))])


_WEIGHTS = (("lambda_ce", 0.0), ("lambda_ce", 1.0), ("lambda_nm", 0.0), ("lambda_nm", 5.0))


@claim(13, "Noisy labels", "Under label noise, retraining keeps the entropy low.")
def noise_keeps_entropy_low(study: Study) -> Judged:
    """Entropy before minus after retraining, paired by seed, at every share of wrong labels above 0, on Cora. Holds if
    every mean is above 0; does not hold if some 95 % interval lies below 0."""
    noisy = of(study, "noisy-labels")
    ratios = [r for r in distinct(row.perturbation_settings["ratio"] for row in noisy.spec.rows) if r > 0]
    modes = ("in training", "in training, recovered")
    gaps = []
    for ratio in ratios:
        before, after = (noisy.find("cora", mode, ratio=ratio) for mode in modes)
        gaps.append(gap(percent(ratio), before, after, "entropy"))
    return everywhere(gaps)


@claim(14, "Sparse labels", "Accuracy holds down to a 2 % label rate, slightly above the four GNNs.")
def few_labels_are_enough(study: Study) -> Judged:
    """On Cora. Holds if GVDN's mean at 2 % is at most 5 points below that at 10 %, and its accuracy averaged over the
    rates from 2 % on is above that of each GNN (paired by seed; a lead whose 95 % interval holds 0 cannot be told)."""
    sparse = of(study, "sparse-labels")
    ours = [one for one in sparse.runs if one.row.method == "gvdn" and one.row.split["train"] >= 0.02]
    few, many = (mean(sparse.find("cora", "clean", method="gvdn", train=train)) for train in (0.02, 0.1))
    parts: list[tuple[bool | None, str]] = [(few >= many - CLOSE, f"gvdn {number(few)} at 2 %, {number(many)} at 10 %")]
    for name in ("gcn", "sage", "sgc", "gat"):
        theirs = [one for one in sparse.runs if one.row.settings.get("aggregator") == name]
        pair = paired(_averaged(ours), _averaged([one for one in theirs if one.row.split["train"] >= 0.02]))
        if pair is None:
            parts.append((None, f"{name} not run"))
            continue
        lead = pair.difference
        parts.append((lead.positive, f"minus {name} {signed(lead.mean)}{interval(lead)}"))
    return all_parts(parts)


@claim(15, "Figure 5", "t-SNE: classes separate again after retraining.")
def classes_separate(study: Study) -> Judged:
    """Silhouette of the victims' true classes in the embedding, recovered minus perturbed, paired by seed. Holds if the
    whole 95 % interval lies above 0 on Cora and Citeseer; does not hold if on one of them it lies below 0."""
    figure = of(study, "figure5")
    parts: list[tuple[bool | None, str]] = []
    for dataset in ("cora", "citeseer"):
        runs = figure.find(dataset, "recovered, mapped", method="gvdn")
        lead = gap(dataset, runs, runs, "separation recovered", "separation perturbed", digits=3)
        parts.append((known(lead).positive, str(lead)))
    return all_parts(parts)


def _regained(figure: Joined, dataset: str, rate: float, diffusion: bool) -> float:
    """The share of the lost accuracy that recovery brought back."""
    before = figure.find(dataset, "afterwards", rate=rate, diffusion=diffusion)
    after = figure.find(dataset, "recovered", rate=rate, diffusion=diffusion)
    lost = mean(before, "clean accuracy") - mean(before)
    return (mean(after) - mean(before)) / lost if lost else 1.0


def _averaged(runs: list[Runs]) -> dict[int, float]:
    """By seed, the mean accuracy over several runs, for the seeds that all of them have."""
    values = [one.values("accuracy") for one in runs]
    seeds = set.intersection(*(set(one) for one in values)) if values else set()
    averages = {seed: summarise([one[seed] for one in values]) for seed in sorted(seeds)}
    return {seed: one.mean for seed, one in averages.items() if one is not None}


def _rates(figure: Joined, dataset: str) -> tuple[str, list[Runs]]:
    """What the rates are compared by, and their runs: validation accuracy of the fit, else accuracy after recovery."""
    mine = [one for one in figure.runs if one.dataset == dataset]
    fitted = [one for one in mine if "recovered" not in one.mode and one.values("validation")]
    if fitted:
        return "validation", fitted
    return "recovered accuracy", [one for one in mine if one.mode == "recovered" and one.records]
