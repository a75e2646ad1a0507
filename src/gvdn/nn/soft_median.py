"""The soft median: a mean over neighbours in which those far from their median count less."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Generator, Tensor, nn
from torch.utils.checkpoint import checkpoint

from gvdn.graph import Graph
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View

PIECE = {"cpu": 1 << 20, "cuda": 1 << 27}
"""Numbers of neighbours' rows that are gathered at a time."""
HELD = 1 << 28
"""Numbers that are held for the backward pass; with more neighbours' rows than that, they are gathered again."""
ROUNDING = 1e-6
"""How far half of the weight may be missed by rounding; it is reached exactly where weights are equal."""


class NeighboursView(View):
    """The features, and for each node its neighbours by a sparse matrix S with their weights, in columns of one length.

    A row with fewer neighbours than the longest is filled up with neighbours of weight 0.
    """

    def __init__(self, graph: Graph, S: sp.csr_array, temperature: float, device: torch.device) -> None:
        super().__init__(SparseMatrix(S, device), graph, device, changing=True)
        self.temperature = temperature
        lengths = np.diff(S.indptr)
        rows = np.repeat(np.arange(graph.num_nodes), lengths)
        place = np.arange(S.nnz) - S.indptr[rows]
        neighbours = np.zeros((graph.num_nodes, int(lengths.max(initial=1))), dtype=np.int64)
        weights = np.zeros(neighbours.shape, dtype=np.float32)
        neighbours[rows, place], weights[rows, place] = S.indices, S.data
        self.neighbours, self.weights = (torch.from_numpy(one).to(device) for one in (neighbours, weights))

    def pieces(self, width: int) -> list[tuple[Int64[Tensor, "_ p"], Float[Tensor, "_ p"]]]:
        """Neighbours and weights of some nodes at a time, for rows of this width."""
        number = max(1, PIECE[self.weights.device.type] // (self.weights.shape[1] * width))
        return list(zip(self.neighbours.split(number), self.weights.split(number), strict=True))

    def soft_median(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The soft median of the neighbours' rows, for every node."""
        again = torch.is_grad_enabled() and self.weights.numel() * X.shape[1] > HELD
        order, found = ranks(X), []
        for neighbours, weights in self.pieces(X.shape[1]):
            given = (X, neighbours, weights, median_nodes(order, neighbours, weights), self.temperature)
            found.append(_gathered_again(*given) if again else _soft_median(*given))
        return torch.cat(found)


class SoftMedianGCN(nn.Module):
    """Geisler et al. (NeurIPS 2021): H = ReLU(soft median of X W_1 + b_1), logits = soft median of H W_2, + b_2.

    The soft median of rows x_v with weights a_v, the neighbours of a node, of dimension d and temperature T:

        x̄ = the weighted median in each dimension,    c_v = |x̄ - x_v|_2 / sqrt(d),    s = softmax(-c / T)

        (sum of a_v) (sum of s_v a_v x_v) / (sum of s_v a_v)

    With T to infinity it is the weighted sum of a GCN, with T to 0 the row that is nearest to the median.
    """

    def __init__(self, features: int, hidden: int, classes: int, *, generator: Generator | None = None) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Parameter(torch.empty(features, hidden)), nn.Parameter(torch.empty(hidden, classes))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W, generator=generator)

    def embed(self, view: NeighboursView) -> Float[Tensor, "n h"]:
        return F.relu(view.soft_median(view.project(self.W_1)) + self.b_1)

    def forward(self, view: NeighboursView, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        H = dropout(self.embed(view))
        return view.soft_median(H @ self.W_2) + self.b_2


@torch.no_grad()
def ranks(X: Float[Tensor, "n d"]) -> Int64[Tensor, "d n"]:
    """The rank of each number among those of its column; one row for each column."""
    order = X.T.contiguous().argsort(dim=1, stable=True)
    places = torch.arange(len(X), device=X.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)


@torch.no_grad()
def median_nodes(
    order: Int64[Tensor, "d n"], neighbours: Int64[Tensor, "b p"], weights: Float[Tensor, "b p"]
) -> Int64[Tensor, "d b"]:
    """The node whose number is the weighted median in each column: the first at which half of the weight is reached.

    The rank of a neighbour and its place among the neighbours are packed into one whole number, since sorting these is
    far faster than sorting pairs, most of all on a CPU.
    """
    columns, number = len(order), neighbours.shape[1]
    bits = (number - 1).bit_length()
    whole = torch.int32 if order.shape[1] << bits < 1 << 31 else torch.int64
    packed = (order.to(whole) << bits).index_select(1, neighbours.flatten()).view(columns, *neighbours.shape)
    packed |= torch.arange(number, dtype=whole, device=packed.device)
    if packed.is_cuda:
        packed = packed.sort(dim=2).values
    else:
        packed.numpy().sort(axis=2)  # in place; ten times faster than torch
    places = (packed & ((1 << bits) - 1)).long()
    reached = weights.expand(columns, -1, -1).gather(2, places).cumsum(dim=2)
    first = torch.searchsorted(reached, reached[:, :, -1:] * (0.5 - ROUNDING))
    return neighbours.expand(columns, -1, -1).gather(2, places.gather(2, first))[:, :, 0]


def _gathered_again(*given: Any) -> Float[Tensor, "b d"]:
    """The soft median, of which nothing is held for the backward pass; it draws no random number to be repeated."""
    found: Tensor = checkpoint(_soft_median, *given, use_reentrant=False, preserve_rng_state=False)
    return found


def _soft_median(
    X: Float[Tensor, "n d"],
    neighbours: Int64[Tensor, "b p"],
    weights: Float[Tensor, "b p"],
    median: Int64[Tensor, "d b"],
    temperature: float,
) -> Float[Tensor, "b d"]:
    """The soft median for some nodes, given the node of the median in each dimension."""
    rows = X.index_select(0, neighbours.flatten()).view(*neighbours.shape, -1)
    x_bar = X.gather(0, median.T)
    c = (rows - x_bar[:, None]).norm(dim=2) / X.shape[1] ** 0.5
    s = (-c / temperature).masked_fill(weights == 0, -torch.inf).softmax(dim=1) * weights
    s = s * (weights.sum(dim=1, keepdim=True) / s.sum(dim=1, keepdim=True))
    return torch.einsum("bp,bpd->bd", s, rows)
