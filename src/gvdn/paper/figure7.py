"""Figure 7: every loss over the epochs."""

from gvdn.paper.verdicts import Judged, NotRun, all_hold, claim, interval, of
from gvdn.reports.account import Study
from gvdn.reports.losses import LOSS_NAMES, movements, sizes
from gvdn.reports.statistics import Summary
from gvdn.reports.tables import number

SETTLED = 5.0
"""A loss has converged if it moves by at most this many per cent of its range."""

EMPTY = 1e-3
"""A loss that stays below this share of the cross entropy carries nothing."""


@claim(9, "Figure 7", "Each loss converges in training and in retraining.")
def losses_converge(study: Study) -> Judged:
    """On Cora. How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, as a share
    of its range (largest minus smallest) over the run; a loss that never moves has converged. A loss that is at no
    recorded epoch above a thousandth of the largest cross entropy of its stage carries nothing: it is named and not
    judged. Holds if for every other loss of both stages the whole 95 % interval lies at or below 5 %; does not hold if
    for some it lies above."""
    figure = of(study, "figure7")
    moved, shares = movements(figure), sizes(figure)
    if any(one.n < 2 for one in moved.values()):
        raise NotRun("fewer than two seeds of figure7")
    empty = [key for key in moved if shares[key] < EMPTY]
    parts = [
        (_settled(one), f"{_named(key)} {number(one.mean)} %{interval(one)}")
        for key, one in moved.items()
        if key not in empty
    ]
    still = [words for settled, words in parts if not settled]
    numbers = (
        f"{len(parts) - len(still)} of {len(parts)} losses move by at most {SETTLED:.0f} % of their range at the end"
    )
    numbers += f"; not surely {', '.join(still)}" if still else ""
    if empty:
        largest = max(shares[key] for key in empty)
        numbers += f". Collapsed, at most {largest:.0e} of the cross entropy: {', '.join(map(_named, empty))}"
    return all_hold(settled for settled, _ in parts), numbers


def _named(key: tuple[str, str]) -> str:
    stage, name = key
    return f"{LOSS_NAMES[name]} in {stage}"


def _settled(moved: Summary) -> bool | None:
    """Whether a loss has converged, judged by the interval of its last movement."""
    if moved.high is not None and moved.high <= SETTLED:
        return True
    return False if moved.low is not None and moved.low > SETTLED else None
