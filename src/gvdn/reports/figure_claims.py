"""The paper's claims about its figures, each judged from records by the rule in its docstring."""

from __future__ import annotations

from gvdn.reports.figures import LOSS_NAMES
from gvdn.reports.joined import PAPER_DATASETS, Joined, Runs, distinct
from gvdn.reports.losses import movements
from gvdn.reports.statistics import Summary, paired, summarise
from gvdn.reports.tables import number, percent, signed
from gvdn.reports.verdicts import (
    Gap,
    Judged,
    NotRun,
    Study,
    all_parts,
    claim,
    everywhere,
    gap,
    helps,
    interval,
    known,
    mean,
    of,
)

COLLAPSE = 20.0
"""Points of accuracy whose loss is called a collapse."""
CLOSE = 5.0
"""Points of accuracy within which a method is said to hold."""
SETTLED = 5.0
"""Per cent of its range by which a loss may still move and be said to have converged."""


@claim(6, "Figure 2", "Noise in the hidden layer degrades four GNNs, sharply above 90 %; the vanilla encoder holds.")
def noise_hurts(study: Study) -> Judged:
    """On Cora. Holds if each GNN loses accuracy from weight 0 to 1 (the whole 95 % interval), loses more from 0.9 to 1
    than from 0 to 0.9, and the vanilla encoder, which learns the weight of its noise, is at most 5 points below the GCN
    without noise. What it reaches with that weight held fixed is said and not judged."""
    figure, dataset = of(study, "figure2"), "cora"
    parts: list[tuple[bool | None, str]] = []
    for name in ("gcn", "sage", "sgc", "gat"):
        at = {w: figure.find(dataset, "clean", aggregator=name, noise_weight=w) for w in (0.0, 0.9, 1.0)}
        start, late, end = (mean(at[weight]) for weight in (0.0, 0.9, 1.0))
        lost, early, end = known(gap(name, at[0.0], at[1.0])), start - late, late - end
        shown = f"{name} loses {number(lost.mean)}{interval(lost)}"
        parts.append((lost.above_zero and end > early, f"{shown}, {number(end)} of it above weight 0.9"))
    plain = mean(figure.find(dataset, "clean", aggregator="gcn", noise_weight=0.0))
    vanilla = mean(figure.find(dataset, "clean", label="vanilla gvdn"))
    held = {w: mean(figure.find(dataset, "clean", method="gvdn", noise_weight=w)) for w in (0.5, 1.0)}
    words = f"vanilla {number(vanilla)}, gcn without noise {number(plain)}; vanilla with its weight held "
    words += ", ".join(f"at {weight} {number(there)}" for weight, there in held.items())
    return all_parts([*parts, (vanilla >= plain - CLOSE, words)])


@claim(7, "Figure 3", "Without diffusion recovery fails on Cora and Citeseer at 1 %; with it, it works everywhere.")
def diffusion_is_needed(study: Study) -> Judged:
    """Recovery works where it regains at least half of the accuracy that the perturbation took, by means. Holds if it
    works with diffusion on five graphs at 1 % and 5 %, and does not without on Cora and Citeseer at 1 %: with our
    additions, with the paper's mechanism alone, and with the paper's printed settings."""
    figure = of(study, "figure3")
    without = [
        f"{kind}diffusion off, 1 %" for kind in ("", "the paper's mechanism: ", "the paper's printed settings: ")
    ]
    asked: list[tuple[str, bool, tuple[str, ...]]] = [(label, False, ("cora", "citeseer")) for label in without]
    asked += [(f"diffusion on, {rate}", True, PAPER_DATASETS) for rate in ("1 %", "5 %")]
    parts: list[tuple[bool | None, str]] = []
    for label, works, datasets in asked:
        shares = {dataset: _regained(figure, dataset, label) for dataset in datasets}
        told = [f"{dataset} {'not run' if share is None else percent(share)}" for dataset, share in shares.items()]
        as_said = [None if share is None else (share >= 0.5) is works for share in shares.values()]
        verdict = False if False in as_said else (None if None in as_said else True)
        parts.append((verdict, f"{label}: regained {', '.join(told)}"))
    return all_parts(parts)


@claim(8, "Figure 4", "All three samplers help over none.")
def samplers_help(study: Study) -> Judged:
    """Recovered accuracy of each sampler minus none, paired by seed, on five graphs. Holds if all 15 help: the whole 95
    % interval above 0. Does not hold if one does not: the interval not above 0 and all of it below one point."""
    figure = of(study, "figure4")
    gaps = []
    for dataset in PAPER_DATASETS:
        none = figure.find(dataset, "recovered", sampler="none")
        for name in ("random", "major", "degree"):
            mine = figure.find(dataset, "recovered", sampler=name)
            gaps.append(gap(f"{name} on {dataset}", mine, none, digits=2))
    return all_parts([(helps(known(one)), str(one)) for one in gaps])


@claim(9, "Figure 7", "Each loss converges in training and in retraining.")
def losses_converge(study: Study) -> Judged:
    """On Cora. How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, as a share
    of its range (largest minus smallest) over the run; a loss that never moves has converged. Holds if for every loss
    of both stages the whole 95 % interval lies at or below 5 %; does not hold if for some it lies above."""
    moved = {f"{LOSS_NAMES[name]} in {stage}": one for (stage, name), one in movements(of(study, "figure7")).items()}
    if any(one.n < 2 for one in moved.values()):
        raise NotRun("fewer than two seeds of figure7")
    parts = [(_settled(one), f"{name} {number(one.mean)} %{interval(one)}") for name, one in moved.items()]
    verdict, _ = all_parts(parts)
    still = [words for settled, words in parts if not settled]
    numbers = (
        f"{len(parts) - len(still)} of {len(parts)} losses move by at most {SETTLED:.0f} % of their range at the end"
    )
    return verdict, numbers + (f"; not surely {', '.join(still)}" if still else "")


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
    and if λ_nm = 5 helps over 0 somewhere and hurts nowhere: the whole interval above 0, or below, on recovered or on
    unseen victims, with our additions or with the paper's mechanism. It does not hold if more L_nm hurts somewhere and
    helps nowhere, or if all four gains stay below one point."""
    figure = of(study, "figure9")
    ce = {weight: figure.find("cora", "recovered", lambda_ce=weight) for weight in (0.0, 1.0)}
    lost = gap("λ_ce 1 minus 0:", ce[1.0], ce[0.0])
    loss = known(lost)
    gains = []
    for kind in ("", "the paper's mechanism: "):
        for mode in ("recovered", "recovered, victims unseen"):
            nm = {weight: figure.find("cora", mode, label=f"{kind}lambda_nm {weight}") for weight in (0.0, 5.0)}
            gains.append(gap(f"{kind}λ_nm 5 minus 0, {mode}:", nm[5.0], nm[0.0]))
    sharply = loss.low is not None and loss.low > COLLAPSE
    return all_parts([(sharply, str(lost)), (_helps_somewhere(gains), "; ".join(map(str, gains)))])


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


def _helps_somewhere(gains: list[Gap]) -> bool | None:
    """Whether something helps and nothing hurts; no, if something hurts and nothing helps, or nothing does a thing."""
    helped, hurts = [helps(known(one)) for one in gains], any(known(one).below_zero for one in gains)
    if True in helped:
        return None if hurts else True
    return False if hurts or None not in helped else None


def _settled(moved: Summary) -> bool | None:
    """Whether a loss has converged, judged by the interval of its last movement."""
    if moved.high is not None and moved.high <= SETTLED:
        return True
    return False if moved.low is not None and moved.low > SETTLED else None


def _regained(figure: Joined, dataset: str, label: str) -> float | None:
    """The share of the lost accuracy that recovery brought back; None where it was not run."""
    before, after = (figure.find(dataset, mode, label=label) for mode in ("afterwards", "recovered"))
    try:
        lost = mean(before, "clean accuracy") - mean(before)
        return (mean(after) - mean(before)) / lost if lost else 1.0
    except NotRun:
        return None


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
