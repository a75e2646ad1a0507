"""What a network sees of a graph: the propagation matrix and the features, stored so that products are cheap."""

import copy

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.graph import Graph, normalised_adjacency
from gvdn.nn.device import read_only
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.sparse import LowRank, SparseMatrix

TINY = 1e-12

Propagation = SparseMatrix | LowRank
"""The propagation matrix S."""

DENSE_GAIN = {"cpu": 10, "cuda": 20}
"""How many times faster an entry is multiplied in a dense matrix than in a sparse one."""


def propagation(graph: Graph, aggregator: str, device: torch.device) -> SparseMatrix:
    """The propagation matrix S of Eq. 2: D̃^-1 Ã, the mean over the neighbours, for sage; Â for the others."""
    if aggregator != "sage":
        return SparseMatrix(normalised_adjacency(graph), device, symmetric=True)
    inverse = sp.diags_array((1.0 / (1 + graph.strengths)).astype(np.float32))
    mean = sp.csr_array(inverse @ (graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)))
    return SparseMatrix(mean, device)


class View:
    """S and X of one graph on one device.

    The features never change during training, so S X is computed once where the product with it is the cheaper one
    in each epoch; else S (X W) is evaluated. With `changing`, S X is never computed: `through` replaces S.
    """

    def __init__(
        self, S: Propagation, graph: Graph, device: torch.device, *, hops: int = 1, changing: bool = False
    ) -> None:
        self.num_nodes, self.num_features = graph.num_nodes, graph.num_features
        self.S, self.hops = S, hops
        self.X: SparseMatrix | Float[Tensor, "n d"] | None = None
        self.SX: Float[Tensor, "n d"] | None = None
        entries = graph.features.size if isinstance(graph.features, np.ndarray) else graph.features.nnz
        sparse_cost = DENSE_GAIN[device.type] * (entries + (0 if changing else hops * S.nnz))
        if sp.issparse(graph.features) and graph.num_nodes * graph.num_features > sparse_cost:
            self.X = SparseMatrix(graph.features, device)
            return
        if changing:
            self.X = torch.from_numpy(graph.dense_features()).to(device)
        else:
            X = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
            self.SX = self.propagate(read_only(X).to(device))

    def propagate(self, H: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """S H."""
        for _ in range(self.hops):
            H = self.S @ H
        return H

    def aggregate(self, W: Float[Tensor, "d k"], dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        """S X W; dropout is applied to the features, or to S X where that was computed."""
        if self.SX is not None:
            return dropout(self.SX) @ W
        return self.propagate(self.project(W, dropout))

    def project(self, W: Float[Tensor, "d k"], dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        """X W, with dropout on the features."""
        assert self.X is not None, "this view has S X and not X"
        X = self.X.dropped(dropout) if isinstance(self.X, SparseMatrix) else dropout(self.X)
        return X @ W

    def through(self, S: Propagation) -> "View":
        """The same features, propagated by another S."""
        assert self.SX is None, "S X was computed for one S; make the view with changing=True"
        other = copy.copy(self)
        other.S = S
        return other

    def over(self, edges: "WeightedEdges", weights: Float[Tensor, " m"]) -> "View":
        """The same features over edges with these weights; gradients flow into them."""
        return self.through(edges.propagation(weights))


class WeightedEdges:
    """The pattern of a weighted graph; `propagation(weights)` is D̃^-1/2 (S + I) D̃^-1/2 with S_ij the weight of {i, j}.

    The pattern is computed once. Each set of weights then costs one pass over the edges, and a product with the result
    costs as much as one with Â. `edges` has each undirected edge once.
    """

    def __init__(self, edges: Int64[np.ndarray, "m 2"], nodes: int, device: torch.device) -> None:
        self.number = len(edges)
        number = np.arange(len(edges))
        loops = np.arange(nodes)
        rows = np.concatenate([edges[:, 0], edges[:, 1], loops])
        columns = np.concatenate([edges[:, 1], edges[:, 0], loops])
        which = np.concatenate([number, number, np.full(nodes, len(edges))])
        order = np.lexsort((columns, rows))
        starts = np.concatenate([[0], np.bincount(rows, minlength=nodes).cumsum()])
        ones = np.ones(len(rows), dtype=np.float32)
        pattern = sp.csr_array((ones, columns[order], starts), shape=(nodes, nodes))
        self.pattern = SparseMatrix(pattern, device, symmetric=True)
        self.which, self.rows, self.columns = (
            torch.from_numpy(part[order].astype(np.int64)).to(device) for part in (which, rows, columns)
        )

    def propagation(self, weights: Float[Tensor, " m"], *, exponent: float = -0.5) -> SparseMatrix:
        """D̃^exponent (S + I) D̃^exponent of these weights; gradients flow into them."""
        entries = torch.cat([weights, weights.new_ones(1)])[self.which]
        degrees = entries.new_zeros(self.pattern.shape[0]).index_add(0, self.rows, entries)
        scale = degrees.rsqrt() if exponent == -0.5 else degrees**exponent
        return self.pattern.with_values(entries * scale[self.rows] * scale[self.columns])

    def adjacency(self, weights: Float[Tensor, " m"]) -> SparseMatrix:
        """S itself, without loops (their entries are zeros)."""
        return self.pattern.with_values(torch.cat([weights, weights.new_zeros(1)])[self.which])


class WeightedView(View):
    """The features of a graph and edges over its nodes; `weighted` gives them other weights.

    `given` has the weight of each edge in the graph, 1 for an edge that the graph does not have.
    """

    def __init__(self, graph: Graph, edges: Int64[np.ndarray, "m 2"], device: torch.device) -> None:
        self.edges = WeightedEdges(edges, graph.num_nodes, device)
        self.given = torch.from_numpy(graph.weights_of(edges)).to(device)
        super().__init__(self.edges.propagation(self.given), graph, device, changing=True)

    def weighted(self, weights: Float[Tensor, " m"]) -> View:
        """The view in which the edges have these weights; gradients flow into them."""
        return self.over(self.edges, weights)
