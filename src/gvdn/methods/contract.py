"""The contract that every method keeps, what it declares about itself, and the table of methods."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from jaxtyping import Float, Int64

from gvdn.data.catalogue import DATASETS
from gvdn.graph import Graph, Split
from gvdn.registry import Registry


class ThreatModel(StrEnum):
    """When the graph is perturbed."""

    EVASION = "evasion"
    """At inference: fitted on the clean graph, asked on the perturbed one."""
    POISONING = "poisoning"
    """At training: fitted on the perturbed graph."""


@dataclass(frozen=True)
class Capabilities:
    """What a method can do and what it was given; declared by every method, printed beside its numbers."""

    threat_models: tuple[ThreatModel, ...] = (ThreatModel.EVASION, ThreatModel.POISONING)
    """Threat models the method supports."""
    snapshot: bool = False
    """Whether it uses what was computed on the clean graph for the very nodes it must answer for."""
    recovers: bool = False
    """Whether it has `recover(graph)`."""
    recover_options: tuple[str, ...] = ()
    """Which of `known`, `labels`, `resume` and `look` its `recover` takes."""
    recovers_per_graph: bool = False
    """Whether a recovery serves for one graph only and runs again for the next."""
    embeds: bool = False
    """Whether it has `embed(graph)`."""
    uncertainty: bool = False
    """Whether it has `uncertainty(graph, samples)`."""


@runtime_checkable
class Method(Protocol):
    """`fit` on a graph, then `predict_proba` on any graph over the same features. Settings are dataclass fields.

    Where `capabilities` says so there are also `recover(graph, ...)`, which returns a new fitted method and leaves the
    old one as it was, `embed(graph)`, which returns a row per node, and `uncertainty(graph, samples)`.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    @classmethod
    def preset(cls, dataset: str | None, *, paper: bool = False, **changes: Any) -> Self: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **changes: Any) -> Self: ...

    def fit(self, graph: Graph, split: Split, *, seed: int) -> Self: ...

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]: ...

    def predict(self, graph: Graph) -> Int64[np.ndarray, " n"]: ...

    def save(self, folder: str | Path, *, force: bool = False) -> None: ...


METHODS: Registry[type[Any]] = Registry("method", entry_point_group="gvdn.methods")
"""Every method by its name; its class is imported when it is asked for, so that listing the names imports no torch."""

for _name, _home in {
    "gcn-jaccard": "gcn_jaccard:GCNJaccard",
    "gcn-svd": "gcn_svd:GCNSVD",
    "dropedge": "dropedge:DropEdge",
    "grand": "grand:GRAND",
    "rgcn": "rgcn:RGCN",
    "prognn": "prognn:ProGNN",
    "mc-dropout": "mc_dropout:MCDropout",
    "graphss": "graphss:GraphSS",
    "lindt": "lindt:LInDT",
    "gvdn": "gvdn:GVDN",
    "gcn": "gnn:GNN",
    "gcn-retrained": "gcn_retrained:GCNRetrained",
    "mlp": "mlp:MLP",
    "snapshot": "snapshot:Snapshot",
}.items():
    METHODS.add_lazily(_name, f"gvdn.methods.{_home}")


def make_method(name: str, dataset: str = "", *, paper: bool = False, **settings: Any) -> Any:
    """A method by name: with the settings of a dataset of the catalogue, with the general ones for any other graph."""
    return METHODS[name].preset(dataset if dataset in DATASETS else None, paper=paper, **settings)
