"""Figure 4: the samplers of Algorithm 1."""

from gvdn.paper import DATASETS
from gvdn.paper.verdicts import Judged, all_parts, claim, gap, helps, known, of
from gvdn.reports.account import Study
from gvdn.reports.joined import distinct
from gvdn.study import Mode


@claim(8, "Figure 4", "All three samplers help over none.")
def samplers_help(study: Study) -> Judged:
    """Recovered accuracy of each sampler minus none, paired by seed: with our additions on five graphs, and with the
    paper's mechanism alone on Cora and Citeseer. Holds if all 21 help: the whole 95 % interval above 0. Does not hold
    if one does not: the interval not above 0 and all of it below one point."""
    figure = of(study, "figure4")
    parts = []
    for group in distinct(row.group for row in figure.spec.rows):
        rows = [row for row in figure.spec.rows if row.group == group]
        gaps = []
        for dataset in (one for one in DATASETS if not rows[0].datasets or one in rows[0].datasets):
            none = figure.find(dataset, Mode.RECOVERED, group=group, sampler="none")
            for name in ("random", "major", "degree"):
                mine = figure.find(dataset, Mode.RECOVERED, group=group, sampler=name)
                gaps.append(gap(f"{name} on {dataset}", mine, none, digits=2))
        verdict, words = all_parts([(helps(known(one)), str(one)) for one in gaps])
        parts.append((verdict, f"{group}: {words}" if group else words))
    return all_parts(parts)
