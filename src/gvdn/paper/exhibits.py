"""The registry of exhibits: how each table or figure of the reproduction is drawn, and in which order."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import gvdn.paper
from gvdn.registry import Registry
from gvdn.reports import page
from gvdn.reports.account import Study
from gvdn.reports.grids import grids
from gvdn.reports.joined import Joined
from gvdn.reports.tables import Table

folded_grids = partial(grids, shown=())
"""Tables of a figure whose picture says more than the numbers."""


@dataclass(frozen=True)
class Exhibit:
    """How one spec is drawn.

    Attributes:
        order: its position in the page.
        short: its name in the contents.
        picture: draws the picture, once there is a record.
        map: gives the data of an interactive map.
    """

    order: int
    short: str
    tables: Callable[[Joined], list[Table]] = grids
    picture: Callable[[Joined], str] | None = None
    caption: str = ""
    map: Callable[[Joined], str | None] | None = None

    def draw(self, joined: Joined) -> str | None:
        """The picture as SVG; None without a record, or where the exhibit has no picture."""
        return self.picture(joined) if self.picture is not None and joined.records else None


EXHIBITS: Registry[Exhibit] = Registry("exhibit")
"""Name of a spec -> its exhibit. Complete once `load_exhibits` was called."""


def load_exhibits() -> Registry[Exhibit]:
    """Import every module of this package, so that all exhibits and claims are registered."""
    for module in pkgutil.iter_modules(gvdn.paper.__path__):
        import_module(f"gvdn.paper.{module.name}")
    return EXHIBITS


def sections(study: Study) -> list[page.Section]:
    """Every spec in the order of the exhibits; one without an exhibit comes last, in general form."""
    known = load_exhibits()
    names = sorted(study, key=lambda name: known[name].order if name in known else len(known) + 1)
    return [_section(study[name]) if name in known else page.section(study[name]) for name in names]


def _section(joined: Joined) -> page.Section:
    exhibit = EXHIBITS[joined.spec.name]
    tables = exhibit.tables(joined) if joined.records else []
    moving = exhibit.map(joined) if exhibit.map is not None else None
    return page.Section(joined.spec, tables, exhibit.draw(joined), exhibit.caption, moving, exhibit.short)
