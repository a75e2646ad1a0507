"""Few training labels: GVDN beside four GNNs on the clean graph."""

from __future__ import annotations

from gvdn.paper import OURS
from gvdn.paper.exhibits import EXHIBITS, Exhibit, folded_grids
from gvdn.paper.figure2 import CLOSE
from gvdn.paper.verdicts import Judged, Part, all_parts, claim, interval, mean, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.pictures import curve_picture
from gvdn.reports.statistics import paired, summarise
from gvdn.reports.tables import number, signed
from gvdn.study import Mode


def picture(joined: Joined) -> str:
    """A curve for each method over the share of labelled nodes."""
    return curve_picture(joined, _series(joined), xlabel="share of labelled nodes")


@claim(14, "Sparse labels", "Accuracy holds down to a 2 % label rate, slightly above the four GNNs.")
def few_labels_are_enough(study: Study) -> Judged:
    """On Cora. Holds if GVDN's mean at 2 % is at most 5 points below that at 10 %, and its accuracy averaged over the
    rates from 2 % on is above that of each GNN (paired by seed; a lead whose 95 % interval contains 0 cannot be
    told)."""
    sparse = of(study, "sparse-labels")
    few, many = (mean(sparse.find("cora", Mode.CLEAN, method=OURS, train=train)) for train in (0.02, 0.1))
    parts: list[Part] = [(few >= many - CLOSE, f"gvdn {number(few)} at 2 %, {number(many)} at 10 %")]
    enough = {name: [one for one in runs if one.row.setting("train") >= 0.02] for name, runs in _series(sparse).items()}
    ours = next(_averaged(runs) for runs in enough.values() if runs[0].row.method == OURS)
    for name, runs in ((name, runs) for name, runs in enough.items() if runs[0].row.method != OURS):
        pair = paired(ours, _averaged(runs))
        if pair is None:
            parts.append((None, f"{name} not run"))
            continue
        lead = pair.difference
        parts.append((lead.positive, f"minus {name} {signed(lead.mean)}{interval(lead)}"))
    return all_parts(parts)


def _series(joined: Joined) -> dict[str, list[Runs]]:
    found: dict[str, list[Runs]] = {}
    for one in joined.runs:
        found.setdefault(one.row.series, []).append(one)
    return found


def _averaged(runs: list[Runs]) -> dict[int, float]:
    """By seed, the mean accuracy over several runs, for the seeds that all of them have."""
    values = [one.values("accuracy") for one in runs]
    seeds = set.intersection(*(set(one) for one in values)) if values else set()
    averages = {seed: summarise([one[seed] for one in values]) for seed in sorted(seeds)}
    return {seed: one.mean for seed, one in averages.items() if one is not None}


EXHIBITS.add("sparse-labels", Exhibit(14, "Few training labels", tables=folded_grids, picture=picture))
