"""The exhibits: how the specs of the reproduction are drawn that are not drawn in general form."""

import pkgutil
from collections.abc import Callable
from importlib import import_module

import gvdn.paper
from gvdn.registry import Registry
from gvdn.reports import page
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined

EXHIBITS: Registry[Callable[[Joined], page.Section]] = Registry("exhibit")
"""Name of a spec -> what draws its section. Complete once `load_exhibits` was called."""


def load_exhibits() -> None:
    """Import every module of this package, so that all exhibits and claims are registered."""
    for module in pkgutil.iter_modules(gvdn.paper.__path__):
        import_module(f"gvdn.paper.{module.name}")


def section(joined: Joined) -> page.Section:
    """The section of a spec: that of its exhibit if it has one and a record, else the general one."""
    load_exhibits()
    exhibit = EXHIBITS.get(joined.spec.name) if joined.records else None
    return (exhibit or page.section)(joined)


def sections(study: Study) -> list[page.Section]:
    """The sections of all specs, in their order."""
    return [section(joined) for joined in sorted(study.values(), key=lambda joined: joined.spec.order)]
