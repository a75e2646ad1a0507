"""Graphs with edge weights, into which gradients flow: for dropped, learned and attacked edges."""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.graph import Graph
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View


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

    def propagation(self, weights: Float[Tensor, " m"]) -> SparseMatrix:
        """The normalised matrix of these weights; gradients flow into them."""
        entries = torch.cat([weights, weights.new_ones(1)])[self.which]
        degrees = entries.new_zeros(self.pattern.shape[0]).index_add(0, self.rows, entries)
        scale = degrees.rsqrt()
        return self.pattern.with_values(entries * scale[self.rows] * scale[self.columns])

    def adjacency(self, weights: Float[Tensor, " m"]) -> SparseMatrix:
        """S itself, without loops (their entries are zeros)."""
        return self.pattern.with_values(torch.cat([weights, weights.new_zeros(1)])[self.which])


class WeightedView(View):
    """The features of a graph and edges over its nodes, all of weight 1; `weighted` gives them others."""

    def __init__(self, graph: Graph, edges: Int64[np.ndarray, "m 2"], device: torch.device) -> None:
        self.edges = WeightedEdges(edges, graph.num_nodes, device)
        super().__init__(self.edges.propagation(torch.ones(len(edges), device=device)), graph, device, changing=True)

    def weighted(self, weights: Float[Tensor, " m"]) -> View:
        """The view in which the edges have these weights; gradients flow into them."""
        return self.through(self.edges.propagation(weights))
