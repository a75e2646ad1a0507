"""White-box access to a fitted model: weights for Nettack, gradients with respect to edges for PRBCD."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.gvdn import GVDN
from gvdn.methods.references.gcn import GNN
from gvdn.nn.view import View, WeightedEdges


@dataclass(frozen=True, eq=False)
class WhiteBox:
    """A fitted GCN or GVDN as the surrogate of `nettack` or the model of `prbcd`.

    For Nettack a GVDN is linearised as the GCN that its head H and its output layer make.
    """

    model: Base

    def __post_init__(self) -> None:
        model = self.model
        aggregator = model.aggregator if isinstance(model, GNN | GVDN) else ""
        if aggregator != "gcn" or not model.is_fitted:
            given = f"{model.name} with {aggregator}" if aggregator not in ("", "gcn") else model.name
            raise InvalidInput(f"expected a fitted gcn or gvdn with the aggregator gcn to attack, got {given}")

    @property
    def W(self) -> Float[np.ndarray, "d K"]:
        """The product of the weights of both layers: the model without its activation."""
        model, network = self.model, self.model.network_
        first = network.heads.W[:, : model.hidden] if isinstance(model, GVDN) else network.first.W
        W_1, W_2 = (W.detach().double().cpu().numpy() for W in (first, network.out.W))
        return W_1 @ W_2

    @property
    def identity(self) -> str:
        """The method and a hash of its weights, its settings and what it stored."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self.model.network_.state_dict().items()}
        arrays |= self.model.arrays()
        settings = {name: value for name, value in self.model.get_params().items() if name != "device"}
        content = [repr(settings).encode(), repr(self.model.facts()).encode()]
        content += [arrays[name].tobytes() for name in sorted(arrays)]
        return f"{self.model.name} {hashlib.sha256(b''.join(content)).hexdigest()[:16]}"

    def module(self, graph: Graph) -> "ThroughEdges":
        """(x, edge_index, edge_weight) -> logits of the graph's nodes."""
        model = self.model
        assert isinstance(model, GNN | GVDN)
        accepted = model.accepted(graph)
        return ThroughEdges(model.network_, *model.through(accepted), accepted)


class ThroughEdges(nn.Module):
    """A network on a graph whose edges and edge weights are arguments of each call; gradients flow into the weights.

    The weight of a call multiplies the one that the edge has in the graph.
    """

    def __init__(self, network: nn.Module, view: View, answer: Callable[[View], Tensor], graph: Graph) -> None:
        super().__init__()
        self.network, self.view, self.answer, self.graph = network, view, answer, graph
        self.known: tuple[Tensor, Tensor, WeightedEdges, Tensor] | None = None
        """The last edges, which half is used, their pattern, their weights in the graph: a call may change no edge."""

    def forward(
        self, x: Float[Tensor, "n _"], edge_index: Int64[Tensor, "2 e"], edge_weight: Float[Tensor, " e"]
    ) -> Float[Tensor, "n k"]:
        """Each undirected edge is given in both directions, with the same weight; x gives only the number of nodes."""
        if self.known is None or self.known[0] is not edge_index:
            once = edge_index[0] < edge_index[1]
            pairs = edge_index[:, once].T.cpu().numpy()
            own = torch.from_numpy(self.graph.weights_of(pairs)) if self.graph.is_weighted else torch.ones(len(pairs))
            self.known = (edge_index, once, WeightedEdges(pairs, len(x), x.device), own.to(x.device))
        _, once, edges, own = self.known
        return self.answer(self.view.through(edges.propagation(edge_weight[once] * own)))
