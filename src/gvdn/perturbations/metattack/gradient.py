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
ENTRIES = 1 << 18
"""Entries gathered at a time where rows are multiplied; few enough for the cache of a processor."""
FULL = 0.2
"""The share of entries that are not zero from which on a matrix is held dense."""


@dataclass(frozen=True)
class Objective:
    """The loss that the attack raises: cross entropy on nodes with labels, each node with its share of the mean."""

    nodes: Positions
    labels: Positions
    shares: Float64[np.ndarray, " m"]


class MetaGradient:
    """The gradient of an objective with respect to the weights of links, by hand and in pieces: nothing is n x n.

    With S = D̃^-1/2 (A + I) D̃^-1/2 and F = S_t S X for the training rows t, the surrogate's weights after training are
    W(F), its logits Z = S S X W, and the loss L(Z). By the chain rule, with dZ = dL/dZ and M = S_t^T dF,

        dL/dW = X^T S S dZ,   dL/dF by the training backwards,
        G_ij = dL/dS_ij = dZ_i . (S X W)_j + (S dZ)_i . (X W)_j + [i in t] dF_i . (S X)_j + M_i . X_j,
        dL/dA_ij = (G_ij + G_ji) / sqrt(d_i d_j) + dL/dd_i + dL/dd_j,
        dL/dd_i = -sum_j (G_ij + G_ji) S_ij / (2 d_i),

    where the last sum is over the links of i and its loop. It is a sum of products of rows,

        dZ_i . Z_i + 2 (S dZ)_i . (S X W)_i + (S S dZ)_i . (X W)_i
        + [i in t] dF_i . F_i + 2 M_i . (S X)_i + (S M)_i . X_i,

    so that G itself is computed for the pairs of the block alone.
    """

    def __init__(self, graph: Graph, train: Positions, objective: Objective, steps: int) -> None:
        self.nodes, self.train, self.objective = graph.num_nodes, train, objective
        self.X = _dense_if_full(double(graph.features))
        self.targets = one_hot(objective.labels, graph.num_classes)
        S = propagation(graph.edges, self.nodes)
        rate = learning_rate(dense(S[train] @ (S @ self.X)))  # of the clean graph, a constant of the attack
        self.training = Training(one_hot(graph.labels[train], graph.num_classes), rate, steps)
        self.row_in_train = np.full(self.nodes, -1)
        self.row_in_train[train] = np.arange(len(train))

    def __call__(self, edges: Keys, block: Keys) -> Float64[np.ndarray, " b"]:
        """dL/dA_ij of every pair of the block, on the graph of these edges."""
        S = propagation(pairs_of(edges, self.nodes), self.nodes)
        SX = _dense_if_full(S @ self.X)
        F = dense(S[self.train] @ SX)
        W = self.training.run(F)
        XW = self.X @ W
        SXW = S @ XW
        Z = S @ SXW
        dZ = self._into_logits(Z)
        SdZ = S @ dZ
        SSdZ = S @ SdZ
        dF = self.training.gradient(self.X.T @ SSdZ)
        u, v = pairs_of(block, self.nodes).T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        G = _products(dZ, rows, SXW, columns) + _products(SdZ, rows, XW, columns)
        at_train = np.flatnonzero(self.row_in_train[rows] >= 0)
        G[at_train] += _products(dF, self.row_in_train[rows[at_train]], SX, columns[at_train])
        ends = _row_products(dZ, Z) + 2 * _row_products(SdZ, SXW) + _row_products(SSdZ, XW)
        ends[self.train] += _row_products(dF, F)
        through, rest = self._through_first_step(S, SX, dF, rows, columns)
        degrees = 1 / S.diagonal()
        by_degree = -(ends + rest) / (2 * degrees)
        both = (G + through).reshape(2, -1).sum(axis=0)
        return both / np.sqrt(degrees[u] * degrees[v]) + by_degree[u] + by_degree[v]

    def _into_logits(self, Z: Matrix) -> Matrix:
        """dL/dZ of the objective."""
        nodes, shares = self.objective.nodes, self.objective.shares[:, None]
        dZ = np.zeros_like(Z)
        dZ[nodes] = shares * (softmax(Z[nodes]) - self.targets)
        return dZ

    def _through_first_step(
        self, S: sp.csr_array, SX: sp.csr_array | Matrix, dF: Matrix, rows: Positions, columns: Positions
    ) -> tuple[Float64[np.ndarray, " p"], Float64[np.ndarray, " n"]]:
        """M_i . X_j for every pair, and 2 M_i . (S X)_i + (S M)_i . X_i for every node, some rows of M at a time."""
        found, ends, into = np.zeros(len(rows)), np.zeros(self.nodes), sp.csr_array(S[:, self.train])
        near = np.flatnonzero(np.diff(into.indptr))
        for start in range(0, len(near), ROWS):
            some = near[start : start + ROWS]
            M, links = into[some] @ dF, S[some]
            place = np.full(self.nodes, -1)
            place[some] = np.arange(len(some))
            here = np.flatnonzero(place[rows] >= 0)
            found[here] = _products(M, place[rows[here]], self.X, columns[here])
            ends[some] += 2 * _products(M, np.arange(len(some)), SX, some)
            i = np.repeat(np.arange(len(some)), np.diff(links.indptr))
            ends += np.bincount(links.indices, links.data * _products(M, i, self.X, links.indices), self.nodes)
        return found, ends


def _dense_if_full(matrix: sp.csr_array | Matrix) -> sp.csr_array | Matrix:
    """A sparse matrix as an array where that takes little more memory: products of rows are faster then."""
    if isinstance(matrix, np.ndarray) or matrix.nnz < FULL * matrix.shape[0] * matrix.shape[1]:
        return matrix
    return matrix.toarray()


def _row_products(left: Matrix, right: Matrix) -> Float64[np.ndarray, " n"]:
    """left_i . right_i for each row."""
    return np.einsum("ik,ik->i", left, right)


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
