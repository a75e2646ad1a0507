"""ProGNN: a GCN on a graph whose edge weights are learned, and the proximal step of the nuclear norm."""

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.sparse import PIECE, SparseMatrix
from gvdn.nn.view import Propagation, View, WeightedEdges, WeightedView


class CandidateView(WeightedView):
    """A graph's edges and learned ones; `learned` is the index of each edge's learned weight, -1 for a new edge."""

    def __init__(
        self, graph: Graph, edges: Int64[np.ndarray, "m 2"], learned: Int64[np.ndarray, " m"], device: torch.device
    ) -> None:
        super().__init__(graph, edges, device)
        self.pairs, self.learned = (torch.from_numpy(part).to(device) for part in (edges, learned))

    def with_learned(self, weights: Float[Tensor, " c"]) -> View:
        """The view in which the weight of each edge is multiplied by its learned one, and by 1 for a new edge."""
        known = weights[self.learned.clamp(min=0)] if len(weights) else weights.new_ones(len(self.learned))
        return self.weighted(torch.where(self.learned >= 0, known, 1.0) * self.given)


class AttackedCandidates(View):
    """What ProGNN propagates over, with links whose weights an attack changes; gradients flow into these weights.

    `pairs` are the candidates that were no links of the fit, as positions (smaller, larger), and `learned` their
    weights: they are there whatever the links are. `S` is that of the graph as it is.
    """

    def __init__(
        self,
        graph: Graph,
        S: Propagation,
        pairs: Int64[np.ndarray, "m 2"],
        learned: Float[Tensor, " m"],
        device: torch.device,
    ) -> None:
        super().__init__(S, graph, device, changing=True)
        self.keys, self.learned, self.device = edge_keys(pairs, graph.num_nodes), learned, device
        self.known: tuple[WeightedEdges, WeightedEdges, Int64[Tensor, " k"], Float[Tensor, " e"]] | None = None
        """The last links, the pattern that they make with the candidates, where they are in it, and its own weights."""

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " k"]) -> View:
        """The same features over links with these weights, added to those of the candidates."""
        if not len(self.keys):
            return super().over(edges, weights)
        if self.known is None or self.known[0] is not edges:
            self.known = self._joined(edges)
        _, every, where, own = self.known
        return super().over(every, own.index_add(0, where, weights))

    def _joined(
        self, edges: WeightedEdges
    ) -> tuple[WeightedEdges, WeightedEdges, Int64[Tensor, " k"], Float[Tensor, " e"]]:
        rows, columns, which = (part.cpu().numpy() for part in (edges.rows, edges.columns, edges.which))
        upper, keys = rows < columns, np.empty(edges.number, dtype=np.int64)
        keys[which[upper]] = rows[upper] * self.num_nodes + columns[upper]
        every = np.union1d(keys, self.keys)
        pairs = np.stack([every // self.num_nodes, every % self.num_nodes], axis=1)
        where, fixed = (torch.from_numpy(np.searchsorted(every, part)).to(self.device) for part in (keys, self.keys))
        own = self.learned.new_zeros(len(every)).index_copy(0, fixed, self.learned)
        return edges, WeightedEdges(pairs, self.num_nodes, self.device), where, own


class LearnedGraph(nn.Module):
    """The GCN and the weights of the edges, a buffer: they are updated by proximal steps and not by the optimizer."""

    weights: Float[Tensor, " c"]

    def __init__(self, gnn: PlainGNN, weights: Float[Tensor, " c"]) -> None:
        super().__init__()
        self.gnn = gnn
        self.register_buffer("weights", weights)

    def embed(self, view: CandidateView) -> Float[Tensor, "n h"]:
        return self.gnn.embed(view.with_learned(self.weights))

    def forward(self, view: CandidateView, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        return self.gnn(view.with_learned(self.weights), dropout=dropout)


def leading_eigenpairs(
    S: SparseMatrix, start: Float[Tensor, "n r"], steps: int
) -> tuple[Float[Tensor, " r"], Float[Tensor, "n r"]]:
    """Eigenvalues largest in magnitude and their vectors, by subspace iteration from `start` and Rayleigh-Ritz.

    A start that spans the whole space gives all of them exactly; the last result serves as the next start.
    """
    Q = torch.linalg.qr(start).Q
    for _ in range(steps):
        Q = torch.linalg.qr(S @ Q).Q
    values, rotation = torch.linalg.eigh((Q.T @ (S @ Q)).double().cpu())  # r x r; a GPU's solver may not converge
    return values.to(Q), Q @ rotation.to(Q)


def nuclear_step(
    values: Float[Tensor, " r"], vectors: Float[Tensor, "n r"], edges: Int64[Tensor, "m 2"], threshold: float
) -> Float[Tensor, " m"]:
    """How much soft-thresholding the singular values by `threshold` takes off each edge's weight.

    The proximal map of t |S|_* is U (|values| - t)_+ sign(values) U^T, so it takes off U min(|values|, t) sign(values)
    U^T; with r < n the smaller singular values are left as they are.
    """
    taken = values.sign() * values.abs().clamp(max=threshold)
    pieces = [((vectors[u] * taken) * vectors[v]).sum(dim=1) for u, v in (part.T for part in edges.split(PIECE))]
    return torch.cat(pieces) if pieces else vectors.new_zeros(0)
