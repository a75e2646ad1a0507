"""Figure 4: the samplers of Algorithm 1."""

from __future__ import annotations

from gvdn.paper import DATASETS
from gvdn.paper.exhibits import EXHIBITS, Exhibit
from gvdn.paper.verdicts import Judged, all_parts, claim, gap, helps, known, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined
from gvdn.reports.pictures import bar_of, bar_picture
from gvdn.study import Mode


def picture(joined: Joined) -> str:
    """A bar for each sampler."""
    samplers = [row.setting("sampler") for row in joined.spec.rows]
    series = {sampler: bar_of(joined, Mode.RECOVERED, sampler=sampler) for sampler in samplers}
    return bar_picture(joined, {"recovered accuracy": series})


@claim(8, "Figure 4", "All three samplers help over none.")
def samplers_help(study: Study) -> Judged:
    """Recovered accuracy of each sampler minus none, paired by seed, on five graphs. Holds if all 15 help: the whole 95
    % interval above 0. Does not hold if one does not: the interval not above 0 and all of it below one point."""
    figure = of(study, "figure4")
    gaps = []
    for dataset in DATASETS:
        none = figure.find(dataset, Mode.RECOVERED, sampler="none")
        for name in ("random", "major", "degree"):
            mine = figure.find(dataset, Mode.RECOVERED, sampler=name)
            gaps.append(gap(f"{name} on {dataset}", mine, none, digits=2))
    return all_parts([(helps(known(one)), str(one)) for one in gaps])


EXHIBITS.add("figure4", Exhibit(6, "Figure 4", picture=picture))
