"""Stand-ins for what deeprobust imports and the benchmarks never call, so that it runs beside a current torch."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

PACKAGES = {
    "gensim": ("gensim", "gensim.models"),
    "torch_scatter": ("torch_scatter",),
    "torch_sparse": ("torch_sparse",),
    "torch_geometric": (
        "torch_geometric",
        "torch_geometric.utils",
        "torch_geometric.nn",
        "torch_geometric.data",
    ),
}


class StandIn(ModuleType):
    """A package in which every name is a class: enough for imports that are never used."""

    __path__ = ()

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in_for_what_is_absent() -> None:
    """Put a stand-in for every package of the table that is not installed."""
    for package in [name for name in PACKAGES if name not in sys.modules and find_spec(name) is None]:
        for module in PACKAGES[package]:
            sys.modules[module] = StandIn(module)
