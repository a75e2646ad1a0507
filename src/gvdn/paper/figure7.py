"""Figure 7: every loss over the epochs."""

from __future__ import annotations

from gvdn.paper.exhibits import EXHIBITS, Exhibit, folded_grids
from gvdn.paper.verdicts import Judged, NotRun, all_parts, claim, interval, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined
from gvdn.reports.losses import LOSS_NAMES, loss_picture, movement_table, movements
from gvdn.reports.statistics import Summary
from gvdn.reports.tables import Table, number

SETTLED = 5.0
"""A loss has converged if it moves by at most this many per cent of its range."""


def tables(joined: Joined) -> list[Table]:
    """How far the losses move at the end, and the scores folded."""
    return [movement_table(joined), *folded_grids(joined)]


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
    settled = f"{len(parts) - len(still)} of {len(parts)} losses"
    numbers = f"{settled} move by at most {SETTLED:.0f} % of their range at the end"
    return verdict, numbers + (f"; not surely {', '.join(still)}" if still else "")


def _settled(moved: Summary) -> bool | None:
    """Whether a loss has converged, judged by the interval of its last movement."""
    if moved.high is not None and moved.high <= SETTLED:
        return True
    return False if moved.low is not None and moved.low > SETTLED else None


_CAPTION = "Line: the mean over the seeds. Band: one standard deviation."
EXHIBITS.add("figure7", Exhibit(9, "Figure 7", tables, loss_picture, _CAPTION))
