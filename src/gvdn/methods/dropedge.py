"""DropEdge: a GCN that sees another part of the edges in every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.backbone import Backbone
from gvdn.methods.supervised import Terms
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.weighted import WeightedView


@dataclass
class DropEdge(Backbone):
    """Rong et al., DropEdge: towards deep graph convolutional networks on node classification (ICLR 2020).

    Each epoch drops a share of the undirected edges, both directions together, and normalises what is left anew; the
    whole graph answers. The GVDN paper prints everything but the share that is dropped (`edge_dropout` is ours) and
    builds one base block; here that is the same two layers as every other method has, with batch normalisation of the
    hidden layer where the paper says so.
    """

    epochs: int = 300
    edge_dropout: float = 0.3
    batch_norm: bool = False

    name: ClassVar[str] = "dropedge"
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "batch_norm")
    printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cora": {"dropout": 0.8, "learning_rate": 1e-2, "weight_decay": 5e-3},
        "citeseer": {"dropout": 0.8, "learning_rate": 9e-3, "weight_decay": 1e-3},
        "pubmed": {"dropout": 0.5, "learning_rate": 1e-2, "weight_decay": 1e-3},
        "amazon-photo": {"dropout": 0.5, "learning_rate": 1e-2, "weight_decay": 1e-2, "batch_norm": True},
        "coauthor-cs": {"dropout": 0.5, "learning_rate": 1e-2, "weight_decay": 1e-3},
        "flickr": {"dropout": 0.3, "learning_rate": 1e-2, "weight_decay": 1e-3},
        "flickr-structure": {"dropout": 0.3, "learning_rate": 1e-2, "weight_decay": 1e-3},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.edge_dropout < 1:
            raise InvalidInput(f"expected an edge_dropout in [0, 1), got {self.edge_dropout}")

    def build(self, features: int, classes: int) -> PlainGNN:
        return PlainGNN(features, self.hidden, classes, batch_norm=self.batch_norm)

    def view(self, graph: Graph) -> WeightedView:
        return WeightedView(graph, graph.edges, self.place())

    def learn(self, network: Any, view: Any) -> tuple[Float[Tensor, "n k"], Terms]:
        kept = torch.rand(view.edges.number, device=self.place()) >= self.edge_dropout
        return network(view.weighted(kept.float()), dropout=self.dropout), {}
