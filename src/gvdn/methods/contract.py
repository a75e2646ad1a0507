"""The contract of all methods, the capabilities that each declares, and the table of methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int64

from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Split
from gvdn.registry import Registry
from gvdn.settings import checked_settings

M = TypeVar("M", bound="Method")


class ThreatModel(StrEnum):
    """When the graph is perturbed."""

    EVASION = "evasion"
    """At inference: fitted on the clean graph, applied to the perturbed one."""
    POISONING = "poisoning"
    """At training: fitted on the perturbed graph."""


@dataclass(frozen=True)
class Capabilities:
    """What a method can do and what it uses; every method declares it, and tables print it beside its numbers."""

    threat_models: tuple[ThreatModel, ...] = (ThreatModel.EVASION, ThreatModel.POISONING)
    """Threat models the method supports."""
    snapshot: bool = False
    """Whether it uses what was computed on the clean graph for the nodes that it predicts."""
    recovers: bool = False
    """Whether it has `recover(graph)`."""
    recover_options: tuple[str, ...] = ()
    """Which of `known`, `labels`, `resume`, `look` and `poisoned` its `recover` takes; with the last, its
    `recovery_rounds` takes `poisoned` too."""
    recovers_per_graph: bool = False
    """Whether a recovery holds for one graph only and must be repeated for the next."""
    recovers_with_labels: bool = False
    """Whether a recovery reads the labels that `fit` was given, without being asked to."""
    features_only: bool = False
    """Whether it reads no links."""
    embeds: bool = False
    """Whether it has `embed(graph)`."""
    uncertainty: bool = False
    """Whether it has `uncertainty(graph, samples)`."""
    diagnoses: bool = False
    """Whether it has `diagnose(graph)`."""
    stochastic: bool = False
    """Whether `predict_proba` averages random draws, the same ones each time, that depend on the order of the nodes."""

    @property
    def given(self) -> tuple[str, ...]:
        """What it uses beside, or instead of, the graph, its features and the labels at `fit`, in the words of tables.

        >>> Capabilities(snapshot=True, recovers=True).given
        ('stored results', 'test-time recovery')
        """
        at_test_time = ThreatModel.EVASION in self.threat_models
        uses = {
            "features only": self.features_only,
            "stored results": self.snapshot,
            "test-time recovery": self.recovers and at_test_time,
            "retraining": self.recovers and not at_test_time,
            "labels at recovery": self.recovers_with_labels,
        }
        return tuple(word for word, used in uses.items() if used)


@runtime_checkable
class Method(Protocol):
    """`fit` on a graph, then `predict_proba` on any graph over the same features. Settings are dataclass fields.

    Where `capabilities` says so there are also `recover(graph, ...)`, which returns a new fitted method and leaves the
    old one as it was, `embed(graph)`, which returns a row per node, `uncertainty(graph, samples)` and
    `diagnose(graph)`. A graph may be given as a `Graph`, as a torch-geometric `Data` or as a NetworkX graph.

    `gvdn.testing.check_method` runs the contract on a method; `gvdn.methods.base.Base` is the usual way to write one.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    @classmethod
    def preset(cls: type[M], dataset: str | None, *, paper: bool = False, **changes: Any) -> M: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self: M, **changes: Any) -> M: ...

    def fit(
        self: M,
        graph: GraphLike,
        split: Split | None = None,
        *,
        seed: int,
        callback: Callable[[int, dict[str, float]], None] | None = None,
        resume: Path | None = None,
    ) -> M: ...

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]: ...

    def predict(self, graph: GraphLike) -> Int64[np.ndarray, " n"]: ...

    def score(self, graph: GraphLike, where: Split | np.ndarray | None = None) -> float: ...

    def rounds(self) -> int: ...

    def recovery_rounds(self) -> int: ...

    def reliance(self, graph: Graph) -> dict[str, float | None]: ...

    def save(self, folder: str | Path, *, force: bool = False) -> None: ...

    @classmethod
    def load(cls: type[M], folder: str | Path, *, device: str = "cpu") -> M: ...


METHODS: Registry[type[Method]] = Registry("method", entry_point_group="gvdn.methods")
"""Every method's class by name, imported at its first use: listing the names imports no torch."""

for _name, _home in {
    "gcn-jaccard": "defences.gcn_jaccard:GCNJaccard",
    "gcn-svd": "defences.gcn_svd:GCNSVD",
    "dropedge": "defences.dropedge:DropEdge",
    "grand": "defences.grand:GRAND",
    "rgcn": "defences.rgcn:RGCN",
    "prognn": "defences.prognn:ProGNN",
    "mc-dropout": "defences.mc_dropout:MCDropout",
    "graphss": "defences.graphss:GraphSS",
    "lindt": "defences.lindt:LInDT",
    "gpr-gae": "defences.gpr_gae:GPRGAE",
    "gnnguard": "defences.gnnguard:GNNGuard",
    "airgnn": "defences.airgnn:AirGNN",
    "elastic-gnn": "defences.elastic_gnn:ElasticGNN",
    "soft-median-gdc": "defences.soft_median_gdc:SoftMedianGDC",
    "adversarial-training": "defences.adversarial_training:AdversarialTraining",
    "gtrans": "defences.gtrans:GTrans",
    "gvdn": "gvdn:GVDN",
    "gcn": "references.gcn:GNN",
    "gcn-retrained": "references.gcn_retrained:GCNRetrained",
    "mlp": "references.mlp:MLP",
    "snapshot": "references.snapshot:Snapshot",
}.items():
    METHODS.add_lazily(_name, f"gvdn.methods.{_home}")


def make_method(name: str, dataset: str = "", *, paper: bool = False, tuned: bool = False, **settings: Any) -> Method:
    """A method by name, with the catalogue's settings for a dataset; with the defaults for any other graph.

    With `paper` they are those that the GVDN paper prints, with `tuned` those that `gvdn tune` found. A setting that
    the method does not have is refused by name; which values it takes the method says.

    >>> make_method("gcn-svd", rank=10).get_params()["rank"]
    10
    """
    if paper and tuned:
        raise InvalidInput("expected the settings of the paper or those that were tuned, got both; leave one out")
    name = METHODS.canonical(name)
    checked_settings(name, dict.fromkeys(settings), dict.fromkeys(METHODS[name].preset(None).get_params()))
    found = _tuned(name, dataset) if tuned else {}
    return METHODS[name].preset(dataset if dataset in DATASETS else None, paper=paper, **{**found, **settings})


def _tuned(method: str, dataset: str) -> Mapping[str, Any]:
    """What `gvdn tune` found; nothing where the settings as they stand were the best."""
    tables = DATASETS[dataset].tuned if dataset in DATASETS else {}
    if method not in tables:
        known = ", ".join(tables) or "none"
        where = f"tuned on {dataset or 'a graph without a name'} ({known})"
        do = "run gvdn tune, or leave tuned out" if dataset else "give the name of the dataset, or leave tuned out"
        raise InvalidInput(f"expected a method that was {where}, got {method}; {do}")
    return tables[method]
