"""Calibration beside entropy."""

from __future__ import annotations

from functools import partial

from gvdn.paper.exhibits import EXHIBITS, Exhibit
from gvdn.reports.figures import Dot, dots
from gvdn.reports.grids import METRICS, finished_datasets, grids
from gvdn.reports.joined import Joined
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import titled


def picture(joined: Joined) -> str:
    """A panel for each dataset: entropy and calibration error of each method."""
    panels: dict[str, dict[str, list[Dot]]] = {dataset: {} for dataset in finished_datasets(joined)}
    for one in joined.runs:
        entropy, ece = (mean_and_std(one.summary(metric)) for metric in ("entropy", "ece"))
        if one.dataset in panels and entropy is not None and ece is not None:
            panels[one.dataset].setdefault(one.row.method, []).append((one.mode, entropy, ece))
    panels = {titled(dataset): found for dataset, found in panels.items()}
    return dots(panels, xlabel=METRICS["entropy"][0], ylabel="calibration error in %", title=joined.spec.title)


_CAPTION = (
    "Further left: the predictions are more certain. Further up: their certainty is further from their accuracy. "
    "Whiskers: one standard deviation."
)
_TABLES = partial(grids, metrics=("ece", "entropy", "brier", "accuracy"), shown=("ece", "entropy"))
EXHIBITS.add("calibration", Exhibit(17, "Calibration", _TABLES, picture, _CAPTION))
