"""Figure 4: the samplers of Algorithm 1."""

from gvdn.paper import DATASETS
from gvdn.paper.verdicts import Judged, all_parts, claim, gap, helps, known, of
from gvdn.reports.account import Study
from gvdn.study import Mode


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
