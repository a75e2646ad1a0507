"""Figure 7: every loss over the epochs."""

from gvdn.paper.verdicts import Judged, NotRun, all_hold, claim, interval, of
from gvdn.reports.account import Study
from gvdn.reports.losses import LOSS_NAMES, movements
from gvdn.reports.statistics import Summary
from gvdn.reports.tables import number

SETTLED = 5.0
"""A loss has converged if it moves by at most this many per cent of its range."""


@claim(9, "Figure 7", "Each loss converges in training and in retraining.")
def losses_converge(study: Study) -> Judged:
    """On Cora. How far the mean of a loss moves from the last tenth but one of the epochs to the last tenth, as a share
    of its range (largest minus smallest) over the run; a loss that never moves has converged. Holds if for every loss
    of both stages the whole 95 % interval lies at or below 5 %; does not hold if for some it lies above."""
    moved = {f"{LOSS_NAMES[name]} in {stage}": one for (stage, name), one in movements(of(study, "figure7")).items()}
    if any(one.n < 2 for one in moved.values()):
        raise NotRun("fewer than two seeds of figure7")
    parts = [(_settled(one), f"{name} {number(one.mean)} %{interval(one)}") for name, one in moved.items()]
    still = [words for settled, words in parts if not settled]
    calm = f"{len(parts) - len(still)} of {len(parts)} losses"
    numbers = f"{calm} move by at most {SETTLED:.0f} % of their range at the end"
    return all_hold(settled for settled, _ in parts), numbers + (f"; not surely {', '.join(still)}" if still else "")


def _settled(moved: Summary) -> bool | None:
    """Whether a loss has converged, judged by the interval of its last movement."""
    if moved.high is not None and moved.high <= SETTLED:
        return True
    return False if moved.low is not None and moved.low > SETTLED else None
