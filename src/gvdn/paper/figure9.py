"""Figure 9: the weight of each loss."""

from gvdn.paper.verdicts import Gap, Judged, all_hold, all_parts, claim, gap, helps, known, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined, distinct
from gvdn.study import Mode

COLLAPSE = 20.0
"""Points of accuracy: a larger loss is called a collapse."""


@claim(11, "Figure 9", "Muting L_ce collapses accuracy; more L_nm helps.")
def cross_entropy_is_needed(study: Study) -> Judged:
    """On Cora and Citeseer. Holds if on both recovered accuracy at λ_ce = 0 is more than 20 points below that at 1
    (whole 95 % interval), and if λ_nm = 5 helps over 0 somewhere and hurts nowhere: the whole interval above 0, or
    below, on stored or on withheld victims, with our additions or with the paper's mechanism. It does not hold if more
    L_nm hurts somewhere and helps nowhere, or if all eight gains stay below one point."""
    figure = of(study, "figure9")
    lost = [_muted(figure, dataset) for dataset in figure.spec.datasets]
    gains = [one for dataset in figure.spec.datasets for one in _gains(figure, dataset)]
    sharply = all_hold((low := known(one).low) is not None and low > COLLAPSE for one in lost)
    return all_parts([(sharply, "; ".join(map(str, lost))), (_helps_somewhere(gains), "; ".join(map(str, gains)))])


def _muted(figure: Joined, dataset: str) -> Gap:
    """What muting the cross entropy costs."""
    ce = {weight: figure.find(dataset, Mode.RECOVERED, lambda_ce=weight) for weight in (0.0, 1.0)}
    return gap(f"{dataset}, λ_ce 1 minus 0:", ce[1.0], ce[0.0])


def _gains(figure: Joined, dataset: str) -> list[Gap]:
    """What more of the embedding match brings, with and without our additions, on stored and on withheld victims."""
    gains = []
    for group in distinct(row.group for row in figure.spec.rows):
        for mode in (Mode.RECOVERED, Mode.WITHHELD):
            nm = {weight: figure.find(dataset, mode, group=group, lambda_nm=weight) for weight in (0.0, 5.0)}
            which = f"{dataset}, {group}" if group else dataset
            gains.append(gap(f"{which}, λ_nm 5 minus 0, {mode}:", nm[5.0], nm[0.0]))
    return gains


def _helps_somewhere(gains: list[Gap]) -> bool | None:
    """True if something helps and nothing hurts; False if something hurts and nothing helps, or if nothing has an
    effect; else None."""
    helped, hurts = [helps(known(one)) for one in gains], any(known(one).below_zero for one in gains)
    if True in helped:
        return None if hurts else True
    return False if hurts or None not in helped else None
