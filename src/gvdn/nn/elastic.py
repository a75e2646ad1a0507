"""Elastic message passing: most neighbours are smoothed over, while a few links may join very different nodes."""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.graph import Graph
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, WeightedEdges, propagation

ROOTED = 1e-7
"""Added to the weight of an attacked link before its root is taken, which has no gradient at 0."""


class ElasticView(View):
    """S = Â, the features, and the normalised incidence matrix B, with B^T B = I - S.

    The row of a link {i, j} of weight w is sqrt(w) (e_i / sqrt(d_i) - e_j / sqrt(d_j)), with d the degrees of A + I.
    """

    def __init__(self, graph: Graph, device: torch.device) -> None:
        super().__init__(propagation(graph, "gcn", device), graph, device, changing=True)
        links = np.arange(graph.num_edges)
        roots, scale = np.sqrt(graph.edge_weights), (1.0 + graph.strengths) ** -0.5
        entries = np.concatenate([roots * scale[graph.edges[:, 0]], -roots * scale[graph.edges[:, 1]]])
        where = (np.tile(links, 2), graph.edges.T.ravel())
        B = sp.csr_array((entries.astype(np.float32), where), shape=(graph.num_edges, graph.num_nodes))
        self.B: SparseMatrix | _Attacked = SparseMatrix(B, device)
        self.B_T: SparseMatrix | _Transposed = SparseMatrix(sp.csr_array(B.T), device)

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> "ElasticView":
        """The same features over edges with these weights; gradients flow into them through S and B."""
        other = super().over(edges, weights)
        assert isinstance(other, ElasticView)
        other.B = _Attacked(edges, weights)
        other.B_T = _Transposed(other.B)
        return other


def elastic(
    view: ElasticView, X_in: Float[Tensor, "n c"], lambda_1: float, lambda_2: float, steps: int
) -> Float[Tensor, "n c"]:
    """Elastic message passing (Liu et al., ICML 2021): primal-dual steps from X_in and Z = 0 on

        lambda_1 (sum over the links of |(B X)_e|_2) + lambda_2 / 2 tr(X^T (I - S) X) + 1/2 |X - X_in|_F^2.

    With gamma = 1 / (1 + lambda_2) and beta = 1 / (2 gamma), a step is

        Y = gamma X_in + (1 - gamma) S X
        Z = rows of (Z + beta B (Y - gamma B^T Z)), scaled to a norm of at most lambda_1
        X = Y - gamma B^T Z
    """
    gamma, X = 1 / (1 + lambda_2), X_in
    beta, Z = 1 / (2 * gamma), X_in.new_zeros(view.B.shape[0], X_in.shape[1])
    for _ in range(steps):
        Y = gamma * X_in + (1 - gamma) * view.propagate(X)
        X = Y
        if lambda_1 > 0:
            Z = Z + beta * (view.B @ (Y - gamma * (view.B_T @ Z)))
            Z = Z * (lambda_1 / Z.norm(dim=1, keepdim=True).clamp(min=lambda_1))
            X = Y - gamma * (view.B_T @ Z)
    return X


class _Attacked:
    """B over edges whose weights are attacked, with sqrt(w + ROOTED) in place of sqrt(w)."""

    def __init__(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> None:
        self.ends = _ends(edges)
        self.shape = (len(weights), edges.pattern.shape[0])
        degrees = weights.new_ones(self.shape[1])
        for end in self.ends:
            degrees = degrees.index_add(0, end, weights)
        roots = (weights + ROOTED).sqrt()
        self.values = tuple(sign * roots * degrees[end].rsqrt() for sign, end in zip((1, -1), self.ends, strict=True))

    def __matmul__(self, X: Float[Tensor, "n c"]) -> Float[Tensor, "m c"]:
        first, second = (value[:, None] * X[end] for value, end in zip(self.values, self.ends, strict=True))
        return first + second


class _Transposed:
    """B^T."""

    def __init__(self, B: _Attacked) -> None:
        self.B = B

    def __matmul__(self, Z: Float[Tensor, "m c"]) -> Float[Tensor, "n c"]:
        total = Z.new_zeros(self.B.shape[1], Z.shape[1])
        for value, end in zip(self.B.values, self.B.ends, strict=True):
            total = total.index_add(0, end, value[:, None] * Z)
        return total


def _ends(edges: WeightedEdges) -> tuple[Int64[Tensor, " m"], Int64[Tensor, " m"]]:
    """The two nodes of each edge, the lower one first."""
    upper = edges.rows < edges.columns
    which = edges.which[upper]
    lower, higher = which.new_empty(2, edges.number)
    lower[which], higher[which] = edges.rows[upper], edges.columns[upper]
    return lower, higher
