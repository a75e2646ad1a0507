"""What a network sees of a graph: the propagation matrix and the features, stored so that products are cheap."""

import copy
from typing import Protocol, runtime_checkable

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


def propagation(graph: Graph, aggregator: str, device: torch.device) -> SparseMatrix:
    """The propagation matrix S of Eq. 2: D̃^-1 Ã, the mean over the neighbours, for sage; Â for the others."""
    if aggregator != "sage":
        return SparseMatrix(normalised_adjacency(graph), device, symmetric=True)
    inverse = sp.diags_array((1.0 / (1 + graph.degrees)).astype(np.float32))
    mean = sp.csr_array(inverse @ (graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)))
    return SparseMatrix(mean, device)


@runtime_checkable
class Propagation(Protocol):
    """The propagation matrix S: products with it, and the number of its entries."""

    @property
    def nnz(self) -> int: ...

    def __matmul__(self, dense: Tensor) -> Tensor: ...


class View:
    """S and X of one graph on one device.

    The features never change during training, so S X is computed once where the product with it is the cheaper one
    in each epoch; else S (X W) is evaluated. With `changing`, S will be replaced (see `through`), so that S X is never
    computed.
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
        X = torch.from_numpy(graph.dense_features()).to(device)
        if changing:
            self.X = X
        else:
            self.SX = self.propagate(X)

    def propagate(self, H: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """S H."""
        for _ in range(self.hops):
            H = self.S @ H
        return H

    def aggregate(self, W: Float[Tensor, "d k"], dropout: float = 0.0) -> Float[Tensor, "n k"]:
        """S X W; dropout is applied to the features, or to S X where that was computed."""
        if self.SX is not None:
            return F.dropout(self.SX, dropout) @ W
        return self.propagate(self.project(W, dropout))

    def project(self, W: Float[Tensor, "d k"], dropout: float = 0.0) -> Float[Tensor, "n k"]:
        """X W, with dropout on the features."""
        assert self.X is not None, "this view has S X and not X"
        X = self.X.dropout(dropout) if isinstance(self.X, SparseMatrix) else F.dropout(self.X, dropout)
        return X @ W

    def through(self, S: Propagation) -> "View":
        """The same features, propagated by another S."""
        assert self.SX is None, "S X was computed for one S; make the view with changing=True"
        other = copy.copy(self)
        other.S = S
        return other
