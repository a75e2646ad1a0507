"""The attacker's own surrogate: softmax(Â² X W), trained on the labels of the training nodes alone.

It is the linearised two-layer GCN of Zügner and Günnemann (Adversarial attacks on graph neural networks via meta
learning, ICLR 2019). Its training can be differentiated with respect to what it was trained on.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int64

from gvdn.errors import InvalidInput
from gvdn.graph import Features, Graph, Positions
from gvdn.graph.checks import positions
from gvdn.graph.graph import UNLABELLED, adjacency_from_pairs
from gvdn.perturbations.receipt import Pairs

Matrix = Float64[np.ndarray, "_ _"]
MOMENTUM = 0.9
STEPS = 50
POWER_ITERATIONS = 30


def training_nodes(graph: Graph, train: object, name: str) -> Positions:
    """The training nodes that an attacker knows, in ascending order; each has a label."""
    if train is None:
        wanted = f"the training nodes, whose labels {name} knows"
        raise InvalidInput(f"expected {wanted}, got none; give a split, or train=positions of nodes")
    nodes = np.unique(positions("train", train))
    if nodes.size and nodes[-1] >= graph.num_nodes:
        raise InvalidInput(f"expected train among the {graph.num_nodes} nodes, got position {nodes[-1]}")
    nodes = nodes[graph.labels[nodes] != UNLABELLED]
    if not nodes.size:
        raise InvalidInput(f"expected a labelled training node of {graph.name} for {name}, got none; label some")
    return nodes


def self_training_labels(graph: Graph, train: Positions, steps: int = STEPS) -> Int64[np.ndarray, " n"]:
    """The label of each training node and the surrogate's prediction for every other node; no other label is read."""
    S, X = propagation(graph.edges, graph.num_nodes), double(graph.features)
    F = dense((S[train] @ S) @ X)
    training = Training(one_hot(graph.labels[train], graph.num_classes), learning_rate(F), steps)
    labels = np.asarray((S @ (S @ (X @ training.run(F)))).argmax(axis=1), dtype=np.int64)
    labels[train] = graph.labels[train]
    return labels


class Training:
    """Gradient descent with momentum on the mean cross entropy of softmax(F W), from W = 0, and its derivative.

    With P_t = softmax(F W_t), n rows, Y the labels and R_t = (P_t - Y) / n:
    V_t+1 = momentum V_t + F^T R_t, W_t+1 = W_t - rate V_t+1.

    With fewer rows than features, W is held as w with W = F^T w, and F W = F F^T w: the same numbers up to rounding, in
    matrices of n x n instead of n x d, where n is the number of training nodes.
    """

    def __init__(self, Y: Matrix, rate: float, steps: int, momentum: float = MOMENTUM) -> None:
        self.Y, self.rate, self.steps, self.momentum = Y, rate, steps, momentum
        self.w: list[Matrix] = []
        """w_0, w_1, ... of the last run."""
        self.P: list[Matrix] = []

    def run(self, F: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "d k"]:
        """The weights after the last step."""
        self.F, self.by_rows = F, F.shape[0] < F.shape[1]
        self.K, self.w, self.P = F @ F.T if self.by_rows else F, [], []
        w = v = np.zeros((self.K.shape[1], self.Y.shape[1]))
        for _ in range(self.steps):
            P = softmax(self.K @ w)
            self.w.append(w)
            self.P.append(P)
            v = self.momentum * v + self._into_weights((P - self.Y) / len(F))
            w = w - self.rate * v
        return F.T @ w if self.by_rows else w

    def gradient(self, dW: Float64[np.ndarray, "d k"]) -> Float64[np.ndarray, "n d"]:
        """dL/dF, given dL/dW of the weights that the last run ended with: the run backwards, step by step.

        There, dL/dW_t = dW + (F^T) dw and dL/dV_t = share dW + (F^T) dv.
        """
        F, n = self.F, len(self.F)
        FdW, through_dW, share = F @ dW, np.zeros_like(self.Y), 0.0
        dw = dv = np.zeros((self.K.shape[1], self.Y.shape[1]))
        left, right = [], []
        for w, P in zip(reversed(self.w), reversed(self.P), strict=True):
            share, dv = share - self.rate, dv - self.rate * dw
            dP = (share * FdW + self.K @ dv) / n
            dZ = P * (dP - (P * dP).sum(axis=1, keepdims=True))
            R = (P - self.Y) / n
            through_dW = through_dW + share * R
            left += [R, dZ]
            right += [dv, w]
            dw = dw + self._into_weights(dZ)
            share, dv = self.momentum * share, self.momentum * dv
        rest = np.concatenate(left, axis=1) @ np.concatenate(right, axis=1).T
        return through_dW @ dW.T + (rest @ F if self.by_rows else rest)

    def _into_weights(self, dZ: Float64[np.ndarray, "n k"]) -> Matrix:
        """F^T dZ, as W is held."""
        return dZ if self.by_rows else self.F.T @ dZ


def learning_rate(F: Matrix) -> float:
    """One over a bound of the curvature of the mean cross entropy, so that no scale of the features diverges.

    The bound is half the largest eigenvalue of F^T F / n, by power iterations.
    """
    v, largest = np.ones(F.shape[1]), 0.0
    for _ in range(POWER_ITERATIONS):
        v = F.T @ (F @ v) / len(F)
        largest = float(np.linalg.norm(v))
        if largest == 0:
            return 1.0
        v = v / largest
    return 2 / largest


def propagation(edges: Pairs, nodes: int) -> sp.csr_array:
    """Â = D̃^-1/2 (A + I) D̃^-1/2 of these edges, all of weight 1, in double precision."""
    A = adjacency_from_pairs(edges, nodes).astype(np.float64) + sp.eye_array(nodes)
    scale = sp.diags_array(np.asarray(A.sum(axis=1)).ravel() ** -0.5)
    return sp.csr_array(scale @ A @ scale)


def softmax(Z: Float64[np.ndarray, "n k"]) -> Float64[np.ndarray, "n k"]:
    """Softmax of each row."""
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def one_hot(labels: Int64[np.ndarray, " m"], classes: int) -> Float64[np.ndarray, "m k"]:
    """A row for each label, 1 at its class."""
    return np.eye(classes)[labels]


def double(features: Features) -> sp.csr_array | Matrix:
    """The features in double precision, sparse where they are sparse."""
    return features.astype(np.float64)


def dense(matrix: sp.csr_array | Matrix) -> Matrix:
    """A sparse matrix of few rows as an array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
