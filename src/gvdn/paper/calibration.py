"""Calibration beside entropy."""

from gvdn.paper.exhibits import EXHIBITS
from gvdn.reports.figures import Dot, dots
from gvdn.reports.grids import METRICS, finished_datasets, grids
from gvdn.reports.joined import Joined
from gvdn.reports.page import Section
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import titled

CAPTION = (
    "Further left: the predictions are more certain. Further up: their certainty is further from their accuracy. "
    "Whiskers: one standard deviation."
)


@EXHIBITS.register("calibration")
def section(joined: Joined) -> Section:
    """A panel for each dataset with entropy and calibration error of each method; tables of these are not folded."""
    panels: dict[str, dict[str, list[Dot]]] = {titled(dataset): {} for dataset in finished_datasets(joined)}
    for one in joined.runs:
        entropy, ece = (mean_and_std(one.summary(metric)) for metric in ("entropy", "ece"))
        if titled(one.dataset) in panels and entropy is not None and ece is not None:
            panels[titled(one.dataset)].setdefault(one.row.method, []).append((one.mode, entropy, ece))
    svg = dots(panels, xlabel=METRICS["entropy"][0], ylabel="calibration error in %", title=joined.spec.title)
    tables = grids(joined, ("ece", "entropy", "brier", "accuracy"), shown=("ece", "entropy"))
    return Section(joined.spec, tables, [(svg, CAPTION)])
