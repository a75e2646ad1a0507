"""What every method can do, and what it must say about itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, Split
from gvdn.registry import Registry


@dataclass(frozen=True)
class Access:
    """What a method was given, printed beside its numbers."""

    snapshot: bool
    """Whether it may use what was computed on the clean graph for the very nodes it must recover."""
    perturbed_in_training: bool
    """Whether it saw the perturbed graph while it was trained, or only meets it afterwards."""


class Method(Protocol):
    """`fit` on the clean graph, `predict_proba` on any graph over the same features. Settings are dataclass fields."""

    access: Access

    def fit(self, graph: Graph, split: Split, *, seed: int) -> Method: ...

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]: ...


METHODS: Registry[str] = Registry("method")
"""Name -> 'module:class', so that listing the names imports no torch; `method_class` finds the class."""
METHODS.add("rgcn", "gvdn.methods.rgcn:RGCN")
METHODS.add("gvdn", "gvdn.methods.gvdn:GVDN")
METHODS.add("gcn", "gvdn.methods.gnn:GNN")


def method_class(name: str) -> Any:
    """The class of a registered method."""
    module, _, member = METHODS[name].partition(":")
    return getattr(import_module(module), member)
