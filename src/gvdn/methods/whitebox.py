"""A fitted model as an attacker sees it who knows it: its weights, and its answers followed back into the edges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.fitted import Fitted
from gvdn.methods.gnn import GNN
from gvdn.methods.gvdn import GVDN
from gvdn.nn.view import View
from gvdn.nn.weighted import WeightedEdges


@dataclass(frozen=True, eq=False)
class WhiteBox:
    """What `nettack` takes as its surrogate and `prbcd` as its model: a GCN or a GVDN that was fitted.

    For Nettack a GVDN is linearised as the GCN that its head H and its output layer make.
    """

    model: Fitted

    def __post_init__(self) -> None:
        model = self.model
        aggregator = getattr(model, "aggregator", "gcn")
        if not isinstance(model, GNN | GVDN) or aggregator != "gcn" or not hasattr(model, "network_"):
            given = model.name if aggregator == "gcn" else f"{model.name} with {aggregator}"
            raise InvalidInput(f"expected a fitted gcn or gvdn with the aggregator gcn to attack, got {given}")

    @property
    def W(self) -> Float[np.ndarray, "d K"]:
        """The weights of both layers, multiplied: the model without its non-linearity."""
        model, network = self.model, self.model.network_
        first = network.heads.W[:, : model.hidden] if isinstance(model, GVDN) else network.first.W
        W_1, W_2 = (W.detach().double().cpu().numpy() for W in (first, network.out.W))
        return W_1 @ W_2

    @property
    def identity(self) -> str:
        """The method and a hash of its weights, its settings and what it keeps."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self.model.network_.state_dict().items()}
        arrays |= self.model.kept()
        settings = {name: value for name, value in self.model.get_params().items() if name != "device"}
        content = [repr(settings).encode(), repr(self.model.facts()).encode()]
        content += [arrays[name].tobytes() for name in sorted(arrays)]
        return f"{self.model.name} {hashlib.sha256(b''.join(content)).hexdigest()[:16]}"

    def module(self, graph: Graph) -> ThroughEdges:
        """(x, edge_index, edge_weight) -> logits of the graph's nodes."""
        model = self.model
        model.require_fitted(graph)
        assert isinstance(model, GNN | GVDN)
        return ThroughEdges(model.network_, *model.through(graph))


class ThroughEdges(nn.Module):
    """A network on a graph whose edges, and their weights, are given anew in every call; gradients flow into them."""

    def __init__(self, network: nn.Module, view: View, answer: Callable[[View], Tensor]) -> None:
        super().__init__()
        self.network, self.view, self.answer = network, view, answer

    def forward(
        self, x: Float[Tensor, "n _"], edge_index: Int64[Tensor, "2 e"], edge_weight: Float[Tensor, " e"]
    ) -> Float[Tensor, "n k"]:
        """Every undirected edge is there both ways, with one weight."""
        once = edge_index[0] < edge_index[1]
        edges = WeightedEdges(edge_index[:, once].T.cpu().numpy(), len(x), x.device)
        return self.answer(self.view.through(edges.propagation(edge_weight[once])))
