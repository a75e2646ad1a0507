"""A GCN on a graph whose edge weights are learned (ProGNN)."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.graph import Graph
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.view import View
from gvdn.nn.weighted import WeightedView


class CandidateView(WeightedView):
    """A graph's edges and learned ones; `learned` is each edge's place among the learned, -1 for one that is new."""

    def __init__(
        self, graph: Graph, edges: Int64[np.ndarray, "m 2"], learned: Int64[np.ndarray, " m"], device: torch.device
    ) -> None:
        super().__init__(graph, edges, device)
        self.pairs, self.learned = (torch.from_numpy(part).to(device) for part in (edges, learned))

    def with_learned(self, weights: Float[Tensor, " c"]) -> View:
        """Each edge with its learned weight, 1 for one that is new."""
        known = weights[self.learned.clamp(min=0)] if len(weights) else weights.new_ones(len(self.learned))
        return self.weighted(torch.where(self.learned >= 0, known, 1.0))


class LearnedGraph(nn.Module):
    """The GCN and the weights of the edges. The weights are no parameter: they have a step of their own."""

    weights: Float[Tensor, " c"]

    def __init__(self, gnn: PlainGNN, weights: Float[Tensor, " c"]) -> None:
        super().__init__()
        self.gnn = gnn
        self.register_buffer("weights", weights)

    def embed(self, view: CandidateView) -> Float[Tensor, "n h"]:
        return self.gnn.embed(view.with_learned(self.weights))

    def forward(self, view: CandidateView, *, dropout: float = 0.0) -> Float[Tensor, "n k"]:
        return self.gnn(view.with_learned(self.weights), dropout=dropout)
