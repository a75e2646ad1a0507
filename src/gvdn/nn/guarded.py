"""GNNGuard: links are weighed by how similar the representations of their ends are, layer by layer."""

import copy
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Generator, Tensor, nn

from gvdn.graph import Graph
from gvdn.graph.nearest import unit_rows
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.sparse import PIECE, SparseMatrix
from gvdn.nn.view import TINY, View, WeightedEdges, propagation

Propagate = Callable[[Float[Tensor, "n k"]], Float[Tensor, "n k"]]


class GuardedView(View):
    """The features, propagated by the attention of the first layer, and the pattern of A + I for that of later ones.

    `threshold` is the cosine below which a link is left out.
    """

    def __init__(self, graph: Graph, threshold: float, device: torch.device) -> None:
        with_loops = sp.csr_array(graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32))
        with_loops.sort_indices()
        rows = np.repeat(np.arange(graph.num_nodes), np.diff(with_loops.indptr))
        self.rows, self.columns = (
            torch.from_numpy(one.astype(np.int64)).to(device) for one in (rows, with_loops.indices)
        )
        self.loops, self.weights = self.rows == self.columns, torch.from_numpy(with_loops.data).to(device)
        self.pattern, self.threshold = SparseMatrix(with_loops, device), threshold
        self.num_nodes = graph.num_nodes
        self.first = self.attention(torch.from_numpy(_cosines(graph, rows, with_loops.indices)).to(device))
        super().__init__(self.pattern.with_values(self.first), graph, device)

    def attention(self, s: Float[Tensor, " e"]) -> Float[Tensor, " e"]:
        """alpha of each entry, given the similarities of the links; every row sums to 1."""
        left = (s >= self.threshold) & (s > 0) & ~self.loops
        s = torch.where(left, s * self.weights, 0.0)
        total = s.new_zeros(self.num_nodes).index_add(0, self.rows, s).clamp(min=TINY)
        N = s.new_zeros(self.num_nodes).index_add(0, self.rows, left.to(s.dtype))
        own = (1 / (N + 1))[self.rows]
        return torch.where(self.loops, own, s / total[self.rows] * (1 - own))

    def remembering(self, H: Float[Tensor, "n h"], beta: Float[Tensor, ""]) -> Propagate:
        """The propagation of the second layer, whose input is H: its own attention, and a share beta of the first."""
        alpha = self.attention(similarities(H, self.rows, self.columns))
        omega = self.pattern.with_values(torch.lerp(alpha, self.first, beta))
        return lambda M: omega @ M


class AttackedGuard(View):
    """What a `GuardedView` is, over links whose weights an attack changes; gradients flow into the weights.

    A link that is there in part counts in part, also among the N_u links of a node. Rows are scaled after a product
    with a symmetric matrix, since gradients flow into the values of such ones.
    """

    edges: WeightedEdges
    loops: Bool[Tensor, " e"]
    weights: Float[Tensor, " e"]
    there: Float[Tensor, " e"]
    """How far the link of each entry is there, from 0 to 1."""
    first: Propagate

    def __init__(self, graph: Graph, threshold: float, device: torch.device) -> None:
        super().__init__(propagation(graph, "gcn", device), graph, device, changing=True)
        self.graph, self.threshold, self.device = graph, threshold, device
        given = torch.from_numpy(graph.edge_weights.copy()).to(device)
        self._set(WeightedEdges(graph.edges, graph.num_nodes, device), given)

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> "AttackedGuard":
        other = copy.copy(self)
        other._set(edges, weights)
        return other

    def _set(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> None:
        self.edges, self.loops = edges, edges.rows == edges.columns
        ends = torch.stack([edges.rows, edges.columns], dim=1).cpu().numpy()
        own = torch.from_numpy(self.graph.weights_of(np.sort(ends, axis=1))).to(self.device)
        cosines = torch.from_numpy(_cosines(self.graph, ends[:, 0], ends[:, 1])).to(self.device)
        self.weights = torch.cat([weights, weights.new_zeros(1)])[edges.which]
        self.there = self.weights / own.masked_fill(self.loops, 1.0)
        self.first = self.attention(cosines)

    def attention(self, s: Float[Tensor, " e"]) -> Propagate:
        """Multiplication with alpha, given the similarity of the ends of each entry of the pattern."""
        left = (s >= self.threshold) & (s > 0) & ~self.loops
        zeros, rows = s.new_zeros(self.num_nodes), self.edges.rows
        s = torch.where(left, s * self.weights, 0.0)
        total = zeros.index_add(0, rows, s).clamp(min=TINY)
        own = 1 / (zeros.index_add(0, rows, torch.where(left, self.there, 0.0)) + 1)
        S = self.edges.pattern.with_values(s)
        return lambda M: own[:, None] * M + ((1 - own) / total)[:, None] * (S @ M)

    def aggregate(self, W: Float[Tensor, "d k"], dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        return self.first(self.project(W, dropout))

    def remembering(self, H: Float[Tensor, "n h"], beta: Float[Tensor, ""]) -> Propagate:
        """As that of a `GuardedView`."""
        alpha, first = self.attention(similarities(H, self.edges.rows, self.edges.columns)), self.first
        return lambda M: torch.lerp(alpha(M), first(M), beta)


class GuardedGCN(nn.Module):
    """Zhang and Zitnik (NeurIPS 2020): a GCN of two layers whose propagation matrix is an attention with memory.

    With s_uv the cosine of the rows of u and v in the input H of a layer, 0 where it is below the threshold, and N_u
    the number of links of u whose s_uv is not 0:

        alpha_uv = s_uv / (sum of s_uv' over the links of u) N_u / (N_u + 1),    alpha_uu = 1 / (N_u + 1)

        omega^1 = alpha^1,    omega^k = beta omega^(k-1) + (1 - beta) alpha^k

        H = ReLU(omega^1 X W_1 + b_1),    logits = omega^2 H W_2 + b_2

    beta = sigmoid(memory) is learned; no gradient flows into the similarities.
    """

    def __init__(self, features: int, hidden: int, classes: int, *, generator: Generator | None = None) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Parameter(torch.empty(features, hidden)), nn.Parameter(torch.empty(hidden, classes))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        self.memory = nn.Parameter(torch.zeros(()))
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W, generator=generator)

    def embed(self, view: GuardedView | AttackedGuard) -> Float[Tensor, "n h"]:
        return F.relu(view.aggregate(self.W_1) + self.b_1)

    def forward(self, view: GuardedView | AttackedGuard, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        H = self.embed(view)
        propagate = view.remembering(H.detach(), self.memory.sigmoid())
        return propagate(dropout(H) @ self.W_2) + self.b_2


def similarities(
    H: Float[Tensor, "n h"], rows: Int64[Tensor, " e"], columns: Int64[Tensor, " e"]
) -> Float[Tensor, " e"]:
    """The cosine of the two rows of H of each entry of a pattern; 0 where one of them is zero."""
    unit = F.normalize(H, dim=1, eps=TINY)
    pieces = zip(rows.split(PIECE), columns.split(PIECE), strict=True)
    return torch.cat([(unit[u] * unit[v]).sum(dim=1) for u, v in pieces])


def _cosines(graph: Graph, rows: np.ndarray, columns: np.ndarray) -> Float[np.ndarray, " e"]:
    """The cosine of the feature rows of each entry."""
    X = unit_rows(graph)
    pieces = (slice(start, start + PIECE) for start in range(0, len(rows), PIECE))
    found = [np.empty(0, dtype=np.float32)]
    for piece in pieces:
        u, v = X[rows[piece]], X[columns[piece]]
        found.append(np.asarray((u * v if isinstance(u, np.ndarray) else u.multiply(v)).sum(axis=1)).ravel())
    return np.concatenate(found)
