"""The meta-gradient: how a loss of the trained surrogate changes with each link that its training saw."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from gvdn.graph import Graph, Positions
from gvdn.perturbations.flips import Keys, pairs_of
from gvdn.perturbations.self_training import (
    Matrix,
    Training,
    dense,
    double,
    learning_rate,
    one_hot,
    propagation,
    softmax,
)

ROWS = 1 << 11
"""Rows of a dense matrix of all features that are held at a time."""
ENTRIES = 1 << 22
"""Entries gathered at a time where rows are multiplied."""


@dataclass(frozen=True)
class Objective:
    """The loss that the attack raises: cross entropy on nodes with labels, each node with its share of the mean."""

    nodes: Positions
    labels: Positions
    shares: Float64[np.ndarray, " m"]


class MetaGradient:
    """The gradient of an objective with respect to the weights of links, by hand and in pieces: nothing is n x n.

    With S = D̃^-1/2 (A + I) D̃^-1/2 and F = S_t S X for the training rows t, the surrogate's weights after training are
    W(F), its logits Z = S S X W, and the loss L(Z). By the chain rule, with dZ = dL/dZ,

        dL/dW = X^T S S dZ,   dL/dF by the training backwards,
        G_ij = dL/dS_ij = dZ_i . (S X W)_j + (S dZ)_i . (X W)_j + [i in t] dF_i . (S X)_j + (S_t^T dF)_i . X_j,
        dL/dA_ij = (G_ij + G_ji) / sqrt(d_i d_j) + dL/dd_i + dL/dd_j,
        dL/dd_i = -sum_j (G_ij + G_ji) S_ij / (2 d_i),

    where the last sum is over the links of i and its loop.
    """

    def __init__(self, graph: Graph, train: Positions, objective: Objective, steps: int) -> None:
        self.nodes, self.train, self.objective = graph.num_nodes, train, objective
        self.X = double(graph.features)
        self.targets = one_hot(objective.labels, graph.num_classes)
        S = propagation(graph.edges, self.nodes)
        rate = learning_rate(dense((S[train] @ S) @ self.X))  # of the clean graph, a constant of the attack
        self.training = Training(one_hot(graph.labels[train], graph.num_classes), rate, steps)
        self.row_in_train = np.full(self.nodes, -1)
        self.row_in_train[train] = np.arange(len(train))

    def __call__(self, edges: Keys, block: Keys) -> Float64[np.ndarray, " b"]:
        """dL/dA_ij of every pair of the block, on the graph of these edges."""
        S = propagation(pairs_of(edges, self.nodes), self.nodes)
        SX = S @ self.X
        W = self.training.run(dense(S[self.train] @ SX))
        XW = self.X @ W
        SXW = S @ XW
        dZ = self._into_logits(S @ SXW)
        SdZ = S @ dZ
        dF = self.training.gradient(self.X.T @ (S @ SdZ))
        u, v = pairs_of(block, self.nodes).T
        rows, columns = S.nonzero()
        own = len(rows)
        rows, columns = np.concatenate([rows, u, v]), np.concatenate([columns, v, u])
        G = _products(dZ, rows, SXW, columns) + _products(SdZ, rows, XW, columns)
        at_train = np.flatnonzero(self.row_in_train[rows] >= 0)
        G[at_train] += _products(dF, self.row_in_train[rows[at_train]], SX, columns[at_train])
        G += self._through_first_step(S, dF, rows, columns)
        degrees = 1 / S.diagonal()
        shared = G[:own] * S.data
        ends = np.bincount(rows[:own], shared, self.nodes) + np.bincount(columns[:own], shared, self.nodes)
        by_degree = -ends / (2 * degrees)
        both = G[own : own + len(u)] + G[own + len(u) :]
        return both / np.sqrt(degrees[u] * degrees[v]) + by_degree[u] + by_degree[v]

    def _into_logits(self, Z: Matrix) -> Matrix:
        """dL/dZ of the objective."""
        nodes, shares = self.objective.nodes, self.objective.shares[:, None]
        dZ = np.zeros_like(Z)
        dZ[nodes] = shares * (softmax(Z[nodes]) - self.targets)
        return dZ

    def _through_first_step(self, S: sp.csr_array, dF: Matrix, rows: Positions, columns: Positions) -> np.ndarray:
        """(S_t^T dF)_i . X_j for every pair, some rows of S_t^T dF at a time."""
        found, into = np.zeros(len(rows)), sp.csr_array(S[:, self.train])
        near = np.flatnonzero(np.diff(into.indptr))
        for start in range(0, len(near), ROWS):
            some = near[start : start + ROWS]
            place = np.full(self.nodes, -1)
            place[some] = np.arange(len(some))
            here = np.flatnonzero(place[rows] >= 0)
            found[here] = _products(into[some] @ dF, place[rows[here]], self.X, columns[here])
        return found


def _products(left: Matrix, i: Positions, right: sp.csr_array | Matrix, j: Positions) -> Float64[np.ndarray, " p"]:
    """left_i . right_j for each pair, a piece at a time; the right side may be sparse."""
    found = np.zeros(len(i))
    lengths = np.full(len(j), right.shape[1]) if isinstance(right, np.ndarray) else np.diff(right.indptr)[j]
    ends = np.searchsorted(np.cumsum(lengths) // ENTRIES, np.arange(1, lengths.sum() // ENTRIES + 1))
    for start, stop in zip([0, *ends], [*ends, len(i)], strict=True):
        a, b = i[start:stop], j[start:stop]
        if isinstance(right, np.ndarray):
            found[start:stop] = np.einsum("pk,pk->p", left[a], right[b])
        else:
            rows = right[b]
            which = np.repeat(np.arange(len(b)), np.diff(rows.indptr))
            found[start:stop] = np.bincount(which, left[a[which], rows.indices] * rows.data, len(b))
    return found
