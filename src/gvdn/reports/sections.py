"""What stands in the page for each spec, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gvdn.reports.compare import grids
from gvdn.reports.datasets import dataset_table
from gvdn.reports.joined import Joined, SpecLike
from gvdn.reports.losses import movement_table
from gvdn.reports.maps import interactive_map, separation_table
from gvdn.reports.pictures import picture
from gvdn.reports.streaming import streaming_tables
from gvdn.reports.table2 import table2
from gvdn.reports.table3 import paired_tests, table3
from gvdn.reports.tables import Table

TABLES = ("datasets", "table2", "table3")
FIGURES = tuple(f"figure{number}" for number in range(2, 10))
TEXT = ("streaming", "noisy-labels", "sparse-labels")
OURS = ("unseen", "additions", "calibration", "adaptive")
ORDER = (*TABLES, *FIGURES, *TEXT, *OURS)
"""The paper's tables, its figures, what it tells besides, and what is ours."""

SWEEPS = ("figure2", "figure8", "figure9", "noisy-labels", "sparse-labels")
"""So many rows that the picture says more than the numbers, which are folded."""

_MAPS = (
    "The first seed. Colour: the true class. Large: a victim; small and pale: another node, 400 in a panel at most. "
    "Cross: answered wrong in that state."
)
CAPTIONS = {
    "figure5": _MAPS,
    "figure6": _MAPS,
    "figure7": "Line: the mean over the seeds. Band: one standard deviation.",
    "calibration": "Further left: the method says that it is surer. Further up: what it says is less true. "
    "Whiskers: one standard deviation.",
    "unseen": "RGCN and GCN, which cannot recover, are trained anew on the perturbed graph; the table also has them "
    "afterwards.",
}


@dataclass(frozen=True)
class Section:
    """One spec in the page: a picture with its caption, the data of an interactive map, tables."""

    spec: SpecLike
    picture: str | None
    caption: str
    map: str | None
    tables: list[Table]


def sections(study: Mapping[str, Joined]) -> list[Section]:
    """Every spec in order; one that is not known here comes last."""
    names = [name for name in ORDER if name in study] + [name for name in study if name not in ORDER]
    return [_section(study[name]) for name in names]


def _section(joined: Joined) -> Section:
    name = joined.spec.name
    mapped = interactive_map(joined) if name in ("figure5", "figure6") else None
    tables = tables_of(joined) if joined.records else []
    return Section(joined.spec, picture(joined), CAPTIONS.get(name, ""), mapped, tables)


def tables_of(joined: Joined) -> list[Table]:
    """Every table of a spec."""
    special = _SPECIAL.get(joined.spec.name)
    if special is not None:
        return special(joined)
    return grids(joined, shown=() if joined.spec.name in SWEEPS else ("accuracy",))


_SPECIAL: dict[str, Callable[[Joined], list[Table]]] = {
    "datasets": lambda joined: [dataset_table(joined)],
    "table2": table2,
    "table3": lambda joined: [*table3(joined), paired_tests(joined)],
    "figure5": lambda joined: [separation_table(joined), *grids(joined, shown=())],
    "figure6": lambda joined: [separation_table(joined), *grids(joined, shown=())],
    "figure7": lambda joined: [movement_table(joined), *grids(joined, shown=())],
    "streaming": streaming_tables,
    "calibration": lambda joined: grids(joined, ("ece", "entropy", "brier", "accuracy"), shown=("ece", "entropy")),
}
