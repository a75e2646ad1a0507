"""A small network on the features alone, taught with the answers of a model on the clean graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Int64, Shaped
from torch import Generator, Tensor, nn

from gvdn.graph import Features
from gvdn.graph.graph import find_ids
from gvdn.nn.dropout import Dropout
from gvdn.nn.sparse import SparseMatrix
from gvdn.seeds import generator, torch_generator
from gvdn.training import optimizers
from gvdn.training.loop import Epoch, Terms, train
from gvdn.trust.rows import BLOCK, Probs, l2_norms, log_normalised, scaled_rows

HIDDEN, EPOCHS, LEARNING_RATE, WEIGHT_DECAY, DROPOUT = 64, 100, 1e-2, 5e-4, 0.5
HALVES = 2
MOST = 40_000
"""Nodes that are taught, at most: a network on rows needs more of them than the rest of the trust model does."""


@dataclass(frozen=True, eq=False)
class Student:
    """q(class | feature row) = softmax(ReLU(x W_1 + b_1) W_2 + b_2), two networks taught on one half of the nodes each.

    A node that was taught is asked of the network that was not taught on it, so that what its row says is not what
    was stored of it in disguise; any other node is asked of both. Rows longer than any of the clean graph are shortened
    to that length, and all are divided by the typical one.

    Attributes:
        weights: W_1, b_1, W_2 and b_2 of each network.
        ids: the nodes that were taught (`taught_rows`), also those of which nothing else is stored.
        half: the half that each of them was taught in.
        longest: the largest Euclidean norm of a row of the clean graph.
        typical: the root mean square of these norms.
    """

    weights: tuple[dict[str, Float32[np.ndarray, "..."]], ...]
    ids: Shaped[np.ndarray, " n"]
    half: Int64[np.ndarray, " n"]
    longest: float
    typical: float

    def answers(self, features: Features, ids: Shaped[np.ndarray, " m"]) -> Probs:
        """Class probabilities of each row, which belongs to the node of this id."""
        half = self.half_of(ids)
        parts = range(0, max(len(ids), 1), BLOCK)
        return np.concatenate([self._answers(features[s : s + BLOCK], half[s : s + BLOCK]) for s in parts])

    def _answers(self, features: Features, half: Int64[np.ndarray, " m"]) -> Probs:
        X = scaled(features, self.longest, self.typical)
        logits = np.stack([_forward(X, weights) for weights in self.weights])
        both = np.exp(log_normalised(logits))
        held_out = both[1 - np.maximum(half, 0), np.arange(len(half))]
        return np.where((half >= 0)[:, None], held_out, both.mean(axis=0))

    def half_of(self, ids: Shaped[np.ndarray, " m"]) -> Int64[np.ndarray, " m"]:
        """The half that each node was taught in, -1 for a node that was not."""
        rows = find_ids(self.ids, ids)
        return np.where(rows >= 0, self.half[rows], -1) if len(self.half) else rows


def taught_rows(nodes: int, *, seed: int) -> Int64[np.ndarray, " m"]:
    """The nodes of a graph that the student is taught on: all, or random ones where there are more than `MOST`."""
    if nodes <= MOST:
        return np.arange(nodes)
    return np.sort(generator(seed, "trust", "taught").choice(nodes, MOST, replace=False))


def teach(
    features: Features, ids: Shaped[np.ndarray, " n"], answers: Probs, *, seed: int, device: torch.device
) -> Student:
    """The student of a model's answers on the clean graph; the same seed gives the same student."""
    norms = l2_norms(features)
    longest, typical = float(norms.max(initial=0)), float(np.sqrt(np.square(norms).mean())) or 1.0
    order = generator(seed, "trust", "student").permutation(len(norms))
    half = np.zeros(len(norms), dtype=np.int64)
    half[order[len(norms) // 2 :]] = 1
    X = scaled(features, longest, typical)
    weights = []
    for number in range(HALVES):
        rows = np.flatnonzero(half == number)
        task = _Lesson(X[rows], answers[rows], seed, f"student {number}", device)
        chosen = optimizers.adam(task.network.parameters(), device, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
        if len(rows):
            train(task, chosen, EPOCHS, seed=seed, purpose=task.purpose)
        weights.append({name: part.detach().cpu().numpy() for name, part in task.network.named_parameters()})
    return Student(tuple(weights), ids, half, longest, typical)


def scaled(features: Features, longest: float, typical: float) -> Features:
    """The rows over the typical norm, none longer than the longest of the clean graph."""
    norms = l2_norms(features)
    return scaled_rows(features, np.minimum(1, longest / np.maximum(norms, 1e-12)) / typical)


class _Network(nn.Module):
    def __init__(self, features: int, classes: int, rng: torch.Generator) -> None:
        super().__init__()
        shapes = {"W_1": (features, HIDDEN), "W_2": (HIDDEN, classes)}
        for name, (rows, columns) in shapes.items():
            bound = (6 / (rows + columns)) ** 0.5
            self.register_parameter(name, nn.Parameter((2 * torch.rand(rows, columns, generator=rng) - 1) * bound))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(HIDDEN)), nn.Parameter(torch.zeros(classes))


class _Lesson:
    """A task of the training loop: cross entropy with soft answers."""

    recordable = True

    def __init__(self, X: Features, answers: Probs, seed: int, purpose: str, device: torch.device) -> None:
        self.purpose = purpose
        self.X = SparseMatrix(X, device) if sp.issparse(X) else torch.from_numpy(np.ascontiguousarray(X)).to(device)
        self.answers = torch.from_numpy(answers.astype(np.float32)).to(device)
        self.network: nn.Module = _Network(X.shape[1], answers.shape[1], torch_generator(seed, purpose)).to(device)

    def losses(self, epoch: Epoch, generator: Generator) -> Terms:
        net: Any = self.network
        H = F.relu(self.X @ net.W_1 + net.b_1)
        logits = Dropout(DROPOUT, generator)(H) @ net.W_2 + net.b_2
        return {"ce": -(self.answers * F.log_softmax(logits, dim=1)).sum(dim=1).mean()}

    def score(self, generator: Generator) -> None:
        return None

    def carried(self) -> dict[str, Tensor]:
        return {}

    def carry(self, state: dict[str, Tensor]) -> None:
        """Nothing but the weights goes from one epoch to the next."""


def _forward(X: Features, weights: dict[str, np.ndarray]) -> Float[np.ndarray, "n k"]:
    hidden = np.maximum(X @ weights["W_1"] + weights["b_1"], 0)
    return (hidden @ weights["W_2"] + weights["b_2"]).astype(np.float64)
