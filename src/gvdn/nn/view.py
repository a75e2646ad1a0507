"""What a network sees of a graph: the propagation matrix and the features, laid out so that products are cheap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gvdn.graph import Graph, normalised_adjacency
from gvdn.nn.sparse import SparseMatrix

TINY = 1e-12

DENSE_GAIN = {"cpu": 10, "cuda": 20}
"""How many times faster an entry is multiplied in a dense matrix than in a sparse one."""


def propagation_matrix(graph: Graph, aggregator: str) -> sp.csr_array:
    """What f of Eq. 2 multiplies by on the left: D̃^-1 Ã, a plain mean, for sage; Â for the others."""
    if aggregator != "sage":
        return normalised_adjacency(graph)
    inverse = sp.diags_array((1.0 / (1 + graph.degrees)).astype(np.float32))
    return sp.csr_array(inverse @ (graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)))


class View:
    """S and X of one graph on one device.

    The features never change during training, so S X is formed once and kept where that is the cheaper product to
    take each epoch, else S (X W) is evaluated with X kept sparse.
    """

    def __init__(self, graph: Graph, aggregator: str, device: torch.device) -> None:
        self.num_nodes, self.num_features = graph.num_nodes, graph.num_features
        self.S = SparseMatrix(propagation_matrix(graph, aggregator), device, symmetric=aggregator != "sage")
        self.hops = 2 if aggregator == "sgc" else 1
        self.X: SparseMatrix | None = None
        self.SX: Float[Tensor, "n d"] | None = None
        entries = graph.features.size if isinstance(graph.features, np.ndarray) else graph.features.nnz
        sparse_cost = DENSE_GAIN[device.type] * (entries + self.hops * self.S.nnz)
        if sp.issparse(graph.features) and graph.num_nodes * graph.num_features > sparse_cost:
            self.X = SparseMatrix(graph.features, device)
        else:
            self.SX = self.propagate(torch.from_numpy(graph.dense_features()).to(device))

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
