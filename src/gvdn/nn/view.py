"""What a network sees of a graph: the propagation matrix and the features, laid out so that products are cheap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.graph import Graph, normalised_adjacency
from gvdn.nn.sparse import SparseMatrix
from gvdn.registry import Registry

DENSE_GAIN = {"cpu": 10, "cuda": 200}
"""How many times faster an entry is multiplied in a dense matrix than in a sparse one."""


class Propagation:
    """S, applied `hops` times: what f in Eq. 2 multiplies by on the left."""

    def __init__(self, matrix: sp.csr_array, *, hops: int = 1, symmetric: bool = True) -> None:
        self.matrix, self.hops, self.symmetric = matrix, hops, symmetric


PROPAGATIONS: Registry[type] = Registry("aggregator")


def propagation(graph: Graph, aggregator: str) -> Propagation:
    """The fixed propagation of an aggregator: Â (gcn, and the edges of gat), Â twice (sgc), D̃^-1 Ã (sage)."""
    if aggregator == "sage":
        loops = sp.eye_array(graph.num_nodes, dtype=np.float32)
        inverse = sp.diags_array((1.0 / (1 + graph.degrees)).astype(np.float32))
        return Propagation(sp.csr_array(inverse @ (graph.adjacency + loops)), symmetric=False)
    return Propagation(normalised_adjacency(graph), hops=2 if aggregator == "sgc" else 1)


class View:
    """S and X of one graph on one device.

    The features never change during training, so S X is formed once and kept where that is the cheaper product to
    take each epoch, else S (X W) is evaluated with X kept sparse.
    """

    def __init__(self, graph: Graph, aggregator: str, device: torch.device) -> None:
        fixed = propagation(graph, aggregator)
        self.num_nodes, self.num_features = graph.num_nodes, graph.num_features
        self.S = SparseMatrix(fixed.matrix, device, symmetric=fixed.symmetric)
        self.hops = fixed.hops
        self.X: SparseMatrix | None = None
        self.SX: Float[Tensor, "n d"] | None = None
        entries = graph.features.size if isinstance(graph.features, np.ndarray) else graph.features.nnz
        sparse_cost = DENSE_GAIN[device.type] * (entries + fixed.hops * fixed.matrix.nnz)
        if sp.issparse(graph.features) and graph.num_nodes * graph.num_features > sparse_cost:
            self.X = SparseMatrix(graph.features, device)
        else:
            dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
            self.SX = self.propagate(torch.from_numpy(dense.copy()).to(device))

    def propagate(self, H: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """S H."""
        for _ in range(self.hops):
            H = self.S @ H
        return H

    def aggregate(self, W: Float[Tensor, "d k"], dropout: float = 0.0) -> Float[Tensor, "n k"]:
        """S X W; dropout falls on the features, or on S X where that is what is kept."""
        if self.SX is not None:
            return F.dropout(self.SX, dropout) @ W
        assert self.X is not None
        return self.propagate(self.X.dropout(dropout) @ W)


class EdgeView:
    """Dense X and the edge list with loops, for layers that weigh each edge anew (gat)."""

    def __init__(self, graph: Graph, device: torch.device) -> None:
        both = (graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)).tocoo()
        dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
        self.num_nodes, self.num_features = graph.num_nodes, graph.num_features
        self.edge_index: Int64[Tensor, "2 e"] = torch.from_numpy(np.stack([both.col, both.row]).astype(np.int64)).to(device)
        self.X: Float[Tensor, "n d"] = torch.from_numpy(dense.copy()).to(device)
