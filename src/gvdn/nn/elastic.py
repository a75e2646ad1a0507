"""Elastic message passing: most neighbours are smoothed over, while a few links may join very different nodes."""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from gvdn.graph import Graph
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, propagation


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
        self.B, self.B_T = SparseMatrix(B, device), SparseMatrix(sp.csr_array(B.T), device)


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
