"""What each of our additions to the paper's recovery does."""

from __future__ import annotations

from gvdn.paper.exhibits import EXHIBITS, Exhibit
from gvdn.reports.figures import Value
from gvdn.reports.grids import lines
from gvdn.reports.joined import Joined
from gvdn.reports.pictures import bar, bar_picture


def picture(joined: Joined) -> str:
    """A panel for each perturbation and mode, a bar for each addition that is switched off."""
    panels: dict[str, dict[str, list[Value | None]]] = {}
    for (group, label, mode), mine in lines(joined).items():
        panels.setdefault(f"{group}, {mode}", {})[label] = bar(joined, mine)
    return bar_picture(joined, panels)


EXHIBITS.add("additions", Exhibit(16, "Our additions", picture=picture))
