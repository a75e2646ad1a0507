"""What every method can do, and what it must say about itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, Split
from gvdn.registry import Registry

Meeting = Literal["afterwards", "in training"]


@dataclass(frozen=True)
class Access:
    """What a method is given, printed beside its numbers."""

    snapshot: bool = False
    """Whether it uses what was computed on the clean graph for the very nodes it must answer for."""
    perturbed: tuple[Meeting, ...] = ("afterwards", "in training")
    """When it can meet the perturbed graph: with finished weights, or while they are learned. Two different claims."""


class Method(Protocol):
    """`fit` on a graph, `predict_proba` on any graph over the same features. Settings are dataclass fields.

    A method that does something when it meets the perturbed graph has `recover(graph, ...)`, which returns a new fitted
    method and leaves the old one as it was. One that has representations has `embed(graph)`.
    """

    name: str
    access: Access

    def fit(self, graph: Graph, split: Split, *, seed: int) -> Method: ...

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]: ...


METHODS: Registry[str] = Registry("method")
"""Name -> 'module:class', so that listing the names imports no torch; `method_class` finds the class."""
METHODS.add("gcn-jaccard", "gvdn.methods.gcn_jaccard:GCNJaccard")
METHODS.add("gcn-svd", "gvdn.methods.gcn_svd:GCNSVD")
METHODS.add("dropedge", "gvdn.methods.dropedge:DropEdge")
METHODS.add("grand", "gvdn.methods.grand:GRAND")
METHODS.add("rgcn", "gvdn.methods.rgcn:RGCN")
METHODS.add("prognn", "gvdn.methods.prognn:ProGNN")
METHODS.add("mc-dropout", "gvdn.methods.mc_dropout:MCDropout")
METHODS.add("graphss", "gvdn.methods.graphss:GraphSS")
METHODS.add("lindt", "gvdn.methods.lindt:LInDT")
METHODS.add("gvdn", "gvdn.methods.gvdn:GVDN")
METHODS.add("gcn", "gvdn.methods.gnn:GNN")
METHODS.add("gcn-retrained", "gvdn.methods.gcn_retrained:GCNRetrained")
METHODS.add("mlp", "gvdn.methods.mlp:MLP")
METHODS.add("snapshot", "gvdn.methods.snapshot:Snapshot")


def make_method(name: str, dataset: str = "", **settings: Any) -> Any:
    """A method by name, with the settings of a named dataset where it has some, and these changes."""
    return method_class(name).for_dataset(dataset, **settings)


def method_class(name: str) -> Any:
    """The class of a registered method."""
    module, _, member = METHODS[name].partition(":")
    return getattr(import_module(module), member)
