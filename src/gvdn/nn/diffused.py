"""The largest entries of each node's PageRank over links whose weights are attacked, with their gradient."""

import copy
import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from gvdn.graph import Graph
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.graph.pagerank import SMALLEST, PageRank, pagerank, top_pagerank
from gvdn.nn.soft_median import NeighboursView
from gvdn.nn.view import WeightedEdges

NEXT_TO_NOTHING = 1e-12
"""The entry of a candidate that is not among the largest: no sum of others changes by it, and it has a gradient."""
BLOCK = 1 << 22
"""Numbers that a block of rows has when it is held dense."""
PIECE = 1 << 13
"""Pairs at a time for which a row of Pi each is gathered."""


class AttackedNeighbours(NeighboursView):
    """The neighbours of each node by its PageRank over links whose weights an attack changes.

    The neighbours and their weights are those of the graph with the links' weights; which entries are the largest is a
    constant. With Pi = alpha (I - (1 - alpha) Â)^-1, symmetric, and G the gradient of the loss into its entries,

        d loss / d Â_uv = (1 - alpha) / alpha (Pi G Pi)_uv

    is needed where a link, a candidate or a loop is, and nowhere else. Pi has the truncated sums of which the largest
    entries are taken. Links of a weight below `SMALLEST`, whose residuals it drops, are left out of it.

    A new link makes its ends neighbours: once it is whole, its entry is nearly always among the largest. Before that it
    is not, and with the selection fixed the entry would have no gradient. So pairs that the graph does not link have a
    gradient as if their entries were selected, while the value that they are given is next to nothing.
    """

    def __init__(self, graph: Graph, alpha: float, number: int, temperature: float, device: torch.device) -> None:
        super().__init__(graph, top_pagerank(graph, alpha, number, SMALLEST), temperature, device)
        self.graph, self.alpha, self.number = graph, alpha, number

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> "AttackedNeighbours":
        A_hat = edges.propagation(weights).forward_half.values
        found = pagerank(self._weighed(edges, weights), self.alpha, self.number, SMALLEST)
        rows, columns = (end.cpu().numpy() for end in (edges.rows, edges.columns))
        kept = _Kept(found, rows, columns, self.alpha, self._with_candidates(found.S, rows, columns))
        values = _Entries.apply(A_hat, kept)  # type: ignore[no-untyped-call]
        other, S = copy.copy(self), kept.S
        lengths = np.diff(S.indptr)
        owners = np.repeat(np.arange(self.num_nodes), lengths)
        places = np.arange(S.nnz) - S.indptr[owners]
        shape, device = (self.num_nodes, int(lengths.max(initial=1))), weights.device
        where = tuple(torch.from_numpy(part).to(device) for part in (owners, places))
        nodes = torch.from_numpy(S.indices.astype(np.int64)).to(device)
        other.neighbours = nodes.new_zeros(shape).index_put(where, nodes)
        other.weights = values.new_zeros(shape).index_put(where, values)
        return other

    def _weighed(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> Graph:
        """The graph with the links of these weights."""
        once = edges.rows < edges.columns
        pairs = torch.stack([edges.rows[once], edges.columns[once]], dim=1).cpu().numpy()
        values = weights.detach()[edges.which[once]].cpu().numpy()
        left = values >= SMALLEST
        adjacency = adjacency_from_pairs(pairs[left], self.num_nodes, values[left])
        return dataclasses.replace(self.graph, adjacency=adjacency)

    def _with_candidates(
        self, S: sp.csr_array, rows: Int64[np.ndarray, " e"], columns: Int64[np.ndarray, " e"]
    ) -> sp.csr_array:
        """S, and entries next to nothing for pairs of the pattern that are not in it, nor linked in the graph."""
        owners = np.repeat(np.arange(self.num_nodes), np.diff(S.indptr))
        own = self.graph.adjacency
        linked = np.repeat(np.arange(self.num_nodes), np.diff(own.indptr)) * self.num_nodes + own.indices
        keys = owners * self.num_nodes + S.indices
        new = np.setdiff1d(rows * self.num_nodes + columns, np.concatenate([keys, linked]))
        data = np.concatenate([S.data, np.full(len(new), NEXT_TO_NOTHING, dtype=np.float32)])
        keys = np.concatenate([keys, new])
        return sp.csr_array((data, (keys // self.num_nodes, keys % self.num_nodes)), shape=S.shape)


class _Kept:
    """The entries that are kept of a PageRank, divided by the sum of their row, and the pattern of Â."""

    def __init__(
        self,
        found: PageRank,
        rows: Int64[np.ndarray, " e"],
        columns: Int64[np.ndarray, " e"],
        alpha: float,
        S: sp.csr_array,
    ) -> None:
        self.Pi, self.sums, self.S, self.alpha = found.Pi, found.sums, S, alpha
        self.rows, self.columns = rows, columns

    def into_pattern(self, gradient: Float[np.ndarray, " k"]) -> Float64[np.ndarray, " e"]:
        """The gradient into the entries of Â, given that into the entries of S."""
        return (1 - self.alpha) / self.alpha * _between(self.Pi, self._into_Pi(gradient), self.rows, self.columns)

    def _into_Pi(self, gradient: Float[np.ndarray, " k"]) -> sp.csr_array:
        """The gradient into the entries before the division by the sum of their row."""
        S, nodes = self.S, self.S.shape[0]
        rows = np.repeat(np.arange(nodes), np.diff(S.indptr))
        mean = np.bincount(rows, gradient * S.data, minlength=nodes)
        G = (gradient - mean[rows]) / self.sums[rows]
        return sp.csr_array((G, S.indices, S.indptr), shape=S.shape)


class _Entries(torch.autograd.Function):
    """From the entries of Â to those of S."""

    @staticmethod
    def forward(ctx: Any, A_hat: Tensor, kept: _Kept) -> Tensor:
        ctx.kept = kept
        return torch.from_numpy(kept.S.data).to(A_hat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        into = ctx.kept.into_pattern(gradients[0].double().cpu().numpy())
        return torch.from_numpy(into).to(gradients[0]), None


def _between(
    Pi: sp.csr_array, G: sp.csr_array, rows: Int64[np.ndarray, " e"], columns: Int64[np.ndarray, " e"]
) -> Float64[np.ndarray, " e"]:
    """(Pi G Pi^T)_uv of each pair, given in the order of u; a block of rows of Pi G is held dense at a time."""
    nodes = Pi.shape[0]
    size, found = max(1, BLOCK // max(nodes, 1)), [np.empty(0)]
    for start in range(0, nodes, size):
        first, last = np.searchsorted(rows, [start, start + size])
        N = (Pi[start : start + size] @ G).toarray()
        for piece in range(first, last, PIECE):
            u, v = (end[piece : min(piece + PIECE, last)] for end in (rows, columns))
            lengths = np.diff(Pi.indptr)[v]
            ends = lengths.cumsum()
            entries = np.arange(ends[-1]) + np.repeat(Pi.indptr[v] - (ends - lengths), lengths)
            products = N[np.repeat(u - start, lengths), Pi.indices[entries]] * Pi.data[entries]
            found.append(np.add.reduceat(products, ends - lengths))  # no row is empty: each has its own node
    return np.concatenate(found)
