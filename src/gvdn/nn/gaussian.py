"""Gaussian graph convolutions: every node is a mean and a variance (RGCN)."""

import copy

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.graph import Graph, normalised_adjacency
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import TINY, WeightedEdges


class GaussianView:
    """Â for the means, D̃^-1 Ã D̃^-1 for the variances, and X, all in CSR."""

    def __init__(self, graph: Graph, device: torch.device) -> None:
        self.num_nodes = graph.num_nodes
        inverse = sp.diags_array((1.0 / (1 + graph.strengths)).astype(np.float32))
        with_loops = graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)
        self.means = SparseMatrix(normalised_adjacency(graph), device, symmetric=True)
        self.variances = SparseMatrix(sp.csr_array(inverse @ with_loops @ inverse), device, symmetric=True)
        self.X = SparseMatrix(sp.csr_array(graph.features), device)

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> "GaussianView":
        """The same features over edges with these weights; gradients flow into them."""
        other = copy.copy(self)
        other.means, other.variances = edges.propagation(weights), edges.propagation(weights, exponent=-1.0)
        return other


class GaussianGCN(nn.Module):
    """Two Gaussian layers: a node's weight in the propagation falls with its variance, as exp(-gamma variance).

    Zhu et al., Robust graph convolutional networks against adversarial attacks (KDD 2019), Eq. 7 to 11.
    """

    def __init__(
        self, features: int, hidden: int, classes: int, gamma: float = 1.0, *, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.hidden, self.classes, self.gamma = hidden, classes, gamma
        self.W_first = nn.Parameter(torch.empty(features, 2 * hidden))
        self.W_mean, self.W_variance = (nn.Parameter(torch.empty(hidden, classes)) for _ in range(2))
        for block in (*self.W_first.data.split(hidden, dim=1), self.W_mean, self.W_variance):
            nn.init.xavier_uniform_(block, generator=generator)

    def forward(
        self, view: GaussianView, *, dropout: Dropout = NO_DROPOUT, eps: Float[Tensor, "n k"] | None = None
    ) -> tuple[Float[Tensor, "n k"], Float[Tensor, ""]]:
        """Logits, sampled with eps where given and the mean otherwise; and KL of the first layer to N(0, I)."""
        mean, variance = self._first_layer(view, dropout)
        kl = 0.5 * (mean**2 + variance - torch.log(variance + 1e-8) - 1).mean(dim=0).sum()
        mean, variance = self._propagate(view, mean, variance)
        mean, variance = dropout(mean), dropout(variance)
        mean, variance = self._propagate(view, F.elu(mean @ self.W_mean), F.relu(variance @ self.W_variance))
        return (mean if eps is None else mean + eps * (variance + TINY).sqrt()), kl

    def embed(self, view: GaussianView) -> Float[Tensor, "n h"]:
        """The mean of each node's hidden Gaussian, after propagation."""
        return self._propagate(view, *self._first_layer(view))[0]

    def _first_layer(self, view: GaussianView, dropout: Dropout = NO_DROPOUT) -> tuple[Tensor, Tensor]:
        first = view.X.dropped(dropout) @ self.W_first
        return F.elu(first[:, : self.hidden]), F.relu(first[:, self.hidden :])

    def _propagate(self, view: GaussianView, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        attention = torch.exp(-self.gamma * variance)
        return view.means @ (mean * attention), view.variances @ (variance * attention**2)
