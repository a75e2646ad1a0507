"""The plain GNNs: what everybody starts from, and what meets the perturbed graph without any defence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from gvdn.graph import Graph
from gvdn.methods.backbone import Backbone
from gvdn.nn.aggregators import AGGREGATORS, view_of
from gvdn.nn.gnn import PlainGNN


@dataclass
class GNN(Backbone):
    """Two layers, 200 hidden units, dropout 0.5 (the paper's appendix), selected by validation accuracy.

    Args:
        aggregator: gcn, sgc, sage or gat.
        noise_weight: share of standard Gaussian noise in the hidden layer, at inference too (the paper's ablation).
    """

    aggregator: str = "gcn"
    noise_weight: float = 0.0

    name: ClassVar[str] = "gcn"
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "aggregator")

    def __post_init__(self) -> None:
        super().__post_init__()
        AGGREGATORS.canonical(self.aggregator)

    def build(self, features: int, classes: int) -> nn.Module:
        return PlainGNN(features, self.hidden, classes, self.aggregator, noise_weight=self.noise_weight)

    def view(self, graph: Graph) -> Any:
        return view_of(graph, self.aggregator, self.place())

    def stream(self) -> str:
        return self.aggregator
