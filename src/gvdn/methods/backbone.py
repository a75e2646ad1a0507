"""The two-layer GCN that the defences stand around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gvdn.graph import Graph
from gvdn.methods.contract import Capabilities
from gvdn.methods.supervised import Supervised, Terms
from gvdn.nn.aggregators import view_of
from gvdn.nn.gnn import PlainGNN
from gvdn.seeds import borrow


@dataclass
class Backbone(Supervised):
    """A GCN (Kipf and Welling, ICLR 2017); a defence changes what it sees, how it learns or how it answers."""

    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True)

    def build(self, features: int, classes: int) -> nn.Module:
        return PlainGNN(features, self.hidden, classes)

    def view(self, graph: Graph) -> Any:
        return view_of(graph, "gcn", self.place())

    def learn(self, network: Any, view: Any) -> tuple[Float[Tensor, "n k"], Terms]:
        return network(view, dropout=self.dropout), {}

    def answer(self, network: Any, view: Any) -> Float[Tensor, "n k"]:
        return network(view)

    @torch.no_grad()
    def embed(self, graph: Graph) -> Float[np.ndarray, "n h"]:
        """The hidden layer of every node."""
        self.require_fitted(graph)
        with borrow(self.seed_, "inference", self.purpose()):
            return self.network_.embed(self.view(graph)).cpu().numpy()
