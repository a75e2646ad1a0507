"""Noisy training labels: entropy and accuracy before and after recovery."""

from __future__ import annotations

from gvdn.paper.exhibits import EXHIBITS, Exhibit, folded_grids
from gvdn.paper.verdicts import Judged, claim, everywhere, gap, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined
from gvdn.reports.pictures import curve_picture
from gvdn.reports.tables import percent
from gvdn.study import Mode

SHOWN = {"before": Mode.POISONING, "after recovery": Mode.POISONING_RECOVERED}


def picture(joined: Joined) -> str:
    """A curve before and one after recovery, over the share of wrong labels."""
    named = {name: [one for one in joined.runs if one.mode == mode] for name, mode in SHOWN.items()}
    return curve_picture(joined, named, xlabel="share of wrong labels")


@claim(13, "Noisy labels", "Under label noise, retraining keeps the entropy low.")
def noise_keeps_entropy_low(study: Study) -> Judged:
    """Entropy before minus after recovery, paired by seed, at every share of wrong labels above 0, on Cora. Holds if
    every mean is above 0; does not hold if some 95 % interval lies below 0."""
    noisy = of(study, "noisy-labels")
    gaps = []
    for row in (row for row in noisy.spec.rows if row.setting("ratio") > 0):
        before, after = (noisy.at(row, "cora", mode) for mode in SHOWN.values())
        gaps.append(gap(percent(row.setting("ratio")), before, after, "entropy"))
    return everywhere(gaps)


EXHIBITS.add("noisy-labels", Exhibit(13, "Noisy training labels", tables=folded_grids, picture=picture))
