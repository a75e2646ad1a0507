"""Withheld victims: recovery with nothing stored of them, beside methods that store nothing."""

from __future__ import annotations

from gvdn.paper.exhibits import EXHIBITS, Exhibit
from gvdn.reports.figures import Value
from gvdn.reports.joined import Joined
from gvdn.reports.pictures import bar_of, bar_picture


def picture(joined: Joined) -> str:
    """A panel for each perturbation; a method with two modes is shown in the last, which is poisoning."""
    panels: dict[str, dict[str, list[Value | None]]] = {}
    for row in joined.spec.rows:
        mode = row.modes[-1]
        name = row.label if len(row.modes) == 1 else f"{row.label}, {mode}"
        values = bar_of(joined, mode, group=row.group, label=row.label)
        panels.setdefault(row.group, {})[name] = values
    return bar_picture(joined, panels)


_CAPTION = (
    "RGCN and GCN, which cannot recover, are fitted on the perturbed graph (poisoning); the table also has evasion."
)
EXHIBITS.add("withheld", Exhibit(15, "Withheld victims", picture=picture, caption=_CAPTION))
