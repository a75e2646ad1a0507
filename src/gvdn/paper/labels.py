"""Noisy and few training labels: GVDN before and after recovery, and beside four GNNs."""

from statistics import fmean

from gvdn.paper import OURS
from gvdn.paper.figure2 import CLOSE
from gvdn.paper.verdicts import Judged, all_parts, claim, everywhere, gap, interval, mean, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Runs
from gvdn.reports.statistics import paired
from gvdn.reports.tables import number, percent, signed
from gvdn.study import Mode


@claim(13, "Noisy labels", "Under label noise, retraining keeps the entropy low.")
def noise_keeps_entropy_low(study: Study) -> Judged:
    """Entropy before minus after recovery, paired by seed, at every share of wrong labels above 0, on Cora. Holds if
    every mean is above 0; does not hold if some 95 % interval lies below 0."""
    noisy = of(study, "noisy-labels")
    gaps = []
    for row in (row for row in noisy.spec.rows if row.setting("ratio") > 0):
        before, after = (noisy.at(row, "cora", mode) for mode in (Mode.POISONING, Mode.POISONING_RECOVERED))
        gaps.append(gap(percent(row.setting("ratio")), before, after, "entropy"))
    return everywhere(gaps)


@claim(14, "Sparse labels", "Accuracy holds down to a 2 % label rate, slightly above the four GNNs.")
def few_labels_are_enough(study: Study) -> Judged:
    """On Cora. Holds if GVDN's mean at 2 % is at most 5 points below that at 10 %, and its accuracy averaged over the
    rates from 2 % on is above that of each GNN (paired by seed; a lead whose 95 % interval contains 0 cannot be
    told)."""
    sparse = of(study, "sparse-labels")
    few, many = (mean(sparse.find("cora", Mode.CLEAN, method=OURS, train=train)) for train in (0.02, 0.1))
    parts: list[Judged] = [(few >= many - CLOSE, f"gvdn {number(few)} at 2 %, {number(many)} at 10 %")]
    enough: dict[str, list[Runs]] = {}
    for one in (one for one in sparse.runs if one.row.setting("train") >= 0.02):
        enough.setdefault(one.row.series, []).append(one)
    ours = _averaged(enough.pop(OURS))
    for name, runs in enough.items():
        pair = paired(ours, _averaged(runs))
        if pair is None:
            parts.append((None, f"{name} not run"))
            continue
        lead = pair.difference
        parts.append((lead.positive, f"minus {name} {signed(lead.mean)}{interval(lead)}"))
    return all_parts(parts)


def _averaged(runs: list[Runs]) -> dict[int, float]:
    """By seed, the mean accuracy over several runs, for the seeds that all of them have."""
    values = [one.values("accuracy") for one in runs]
    return {seed: fmean(one[seed] for one in values) for seed in sorted(set.intersection(*map(set, values)))}
