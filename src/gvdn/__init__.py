"""Robust node representations for graphs that get perturbed after the model was trained."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gvdn.data import load_graph as load_graph
    from gvdn.errors import GvdnError as GvdnError
    from gvdn.errors import InvalidInput as InvalidInput
    from gvdn.graph import Graph as Graph
    from gvdn.graph import Split as Split
    from gvdn.graph import random_split as random_split
    from gvdn.methods.contract import METHODS as METHODS
    from gvdn.methods.contract import make_method as make_method
    from gvdn.methods.files import load_model as load_model
    from gvdn.methods.gvdn import GVDN as GVDN
    from gvdn.perturbations import perturb as perturb
    from gvdn.perturbations import replay as replay

__version__ = "0.1.0"

# Found when first asked for, so that `import gvdn` and `gvdn --help` answer at once.
_HOMES = {
    "load_graph": "gvdn.data",
    "GVDN": "gvdn.methods.gvdn",
    "METHODS": "gvdn.methods.contract",
    "make_method": "gvdn.methods.contract",
    "load_model": "gvdn.methods.files",
    "GvdnError": "gvdn.errors",
    "InvalidInput": "gvdn.errors",
    "Graph": "gvdn.graph",
    "Split": "gvdn.graph",
    "random_split": "gvdn.graph",
    "perturb": "gvdn.perturbations",
    "replay": "gvdn.perturbations",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gvdn' has no attribute {name!r}")
