"""DropEdge: a GCN that is trained on a random part of the edges in every epoch."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.view import WeightedView
from gvdn.training.loop import Terms


@dataclass
class DropEdge(Base):
    """Rong et al., DropEdge: towards deep graph convolutional networks on node classification (ICLR 2020).

    Each epoch drops a share of the undirected edges, both directions together, and normalises the rest; inference uses
    the whole graph. The network is the plain two-layer GCN. The authors' appendix also has weights for each node's own
    features, in either layer; they let a perturbed row through without any neighbour beside it, and under random
    connections they cost up to half of the accuracy, so they are left out. The GVDN paper prints a weight decay that
    fits neither network (`preset(dataset, paper=True)` has it); the catalogue's was chosen on validation data. It does
    not print the share that is dropped: `edge_dropout` is ours; its one base block is two layers here.
    """

    epochs: int = 300
    edge_dropout: float = 0.3
    batch_norm: bool = False

    name: ClassVar[str] = "dropedge"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    ranges: ClassVar = {"[0, 1)": ("edge_dropout",)}
    search_space: ClassVar[Space] = space(edge_dropout=(0.1, 0.3, 0.5), epochs=(150, 300, 600))
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "batch_norm")

    def build(self, features: int, classes: int, generator: Generator | None) -> PlainGNN:
        return PlainGNN(features, self.hidden, classes, batch_norm=self.batch_norm, generator=generator)

    def view(self, graph: Graph) -> WeightedView:
        return WeightedView(graph, graph.edges, self.torch_device())

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Float[Tensor, "n k"], Terms]:
        left = torch.rand(view.edges.number, generator=generator, device=generator.device) >= self.edge_dropout
        return network(view.weighted(left * view.given), dropout=Dropout(self.dropout, generator)), {}
