"""Metattack against an implementation that holds everything n x n and lets torch differentiate the training."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph, random_split
from gvdn.perturbations import perturb
from gvdn.perturbations.flips import all_keys
from gvdn.perturbations.metattack import gradient
from gvdn.perturbations.metattack.attack import _objective
from gvdn.perturbations.metattack.gradient import MetaGradient
from gvdn.perturbations.self_training import self_training_labels

STEPS = 12


def planted(seed: int, sparse: bool) -> Graph:
    """Thirty nodes of three classes, mostly linked within a class, with words that say it half of the time."""
    rng = np.random.default_rng(seed)
    labels = np.arange(30) % 3
    chance = np.where(labels[:, None] == labels, 0.25, 0.05)
    edges = np.argwhere(np.triu(rng.random((30, 30)) < chance, 1))
    words = np.where(rng.random((30, 9)) < np.where(np.arange(9) % 3 == labels[:, None], 0.5, 0.2), 1.0, 0.0)
    features = (words * rng.random((30, 9)) * 3).astype(np.float32)
    given = sp.csr_array(features) if sparse else features
    return Graph.from_edges(edges, given, labels=labels, class_names=("a", "b", "c"), name="planted")


class Dense:
    """The same attack with dense matrices: surrogate, training and flips, written once more."""

    def __init__(self, graph: Graph, train: np.ndarray, objective: str) -> None:
        features = graph.features.toarray() if sp.issparse(graph.features) else graph.features
        self.X = torch.from_numpy(features.astype(np.float64))
        self.A = torch.from_numpy(graph.adjacency.toarray().astype(np.float64))
        self.train, self.objective = torch.from_numpy(train.copy()), objective
        self.labels = torch.from_numpy(graph.labels.copy())
        others = np.setdiff1d(np.arange(graph.num_nodes), train)
        self.others = torch.from_numpy(others)
        F = (self.normalised(self.A) @ self.normalised(self.A) @ self.X)[self.train]
        self.rate = 2 * len(train) / torch.linalg.eigvalsh(F.T @ F).max()
        self.stand_ins = self.logits(self.A).argmax(dim=1)

    def normalised(self, A: torch.Tensor) -> torch.Tensor:
        loops = A + torch.eye(len(A), dtype=A.dtype)
        scale = loops.sum(dim=1) ** -0.5
        return scale[:, None] * loops * scale

    def logits(self, A: torch.Tensor) -> torch.Tensor:
        """Logits of all nodes after training on this graph; every step stays in the graph of autograd."""
        propagated = self.normalised(A) @ self.normalised(A) @ self.X
        W = torch.zeros(self.X.shape[1], 3, dtype=torch.float64, requires_grad=True)
        V = torch.zeros_like(W)
        for _ in range(STEPS):
            loss = torch.nn.functional.cross_entropy((propagated @ W)[self.train], self.labels[self.train])
            (slope,) = torch.autograd.grad(loss, W, create_graph=True)
            V = 0.9 * V + slope
            W = W - self.rate * V
        return propagated @ W

    def gradient(self) -> torch.Tensor:
        """dL/dA_ij + dL/dA_ji."""
        A = self.A.clone().requires_grad_()
        logits, loss = self.logits(A), torch.nn.functional.cross_entropy
        by_self = loss(logits[self.others], self.stand_ins[self.others])
        by_train = loss(logits[self.train], self.labels[self.train])
        value = {"self": by_self, "train": by_train, "both": (by_self + by_train) / 2}[self.objective]
        (slope,) = torch.autograd.grad(value, A)
        return slope + slope.T

    def attack(self, flips: int) -> list[tuple[int, int]]:
        """The flips in their order: always the one of the largest score that is allowed."""
        done: list[tuple[int, int]] = []
        for _ in range(flips):
            scores = (self.gradient() * (1 - 2 * self.A)).clone()
            degrees = self.A.sum(dim=1)
            last = (self.A > 0) & ((degrees[:, None] < 2) | (degrees[None, :] < 2))
            scores[last] = -torch.inf
            scores[torch.tril(torch.ones_like(scores)) > 0] = -torch.inf
            for pair in done:
                scores[pair] = -torch.inf
            i, j = divmod(int(scores.argmax()), len(scores))
            done.append((i, j))
            self.A[i, j] = self.A[j, i] = 1 - self.A[i, j]
        return done


@pytest.mark.parametrize("objective", ["self", "train", "both"])
@pytest.mark.parametrize(("sparse", "full"), [(True, 0.2), (True, 2.0), (False, 0.2)])
def test_the_gradient_of_every_pair_is_that_of_autograd(objective, sparse, full, monkeypatch):
    monkeypatch.setattr(gradient, "FULL", full)  # from 0.2 on, sparse features are held dense; with 2.0, never
    graph = planted(0, sparse)
    train = random_split(graph, seed=0, train=0.3).train
    reference = Dense(graph, train, objective)
    assert self_training_labels(graph, train, STEPS)[reference.others].tolist() == (
        reference.stand_ins[reference.others].tolist()
    )
    loss = _objective(self_training_labels(graph, train, STEPS), train, objective)
    ours = MetaGradient(graph, train, loss, STEPS)
    keys = all_keys(30)
    edges = graph.edges[:, 0] * 30 + graph.edges[:, 1]
    expected = reference.gradient().numpy()[keys // 30, keys % 30]
    np.testing.assert_allclose(ours(edges, keys), expected, rtol=1e-6, atol=1e-9)
    assert np.abs(expected).max() > 1e-4


@pytest.mark.parametrize("objective", ["self", "train", "both"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_a_block_of_all_pairs_the_flips_are_those_of_the_dense_attack(objective, seed):
    graph = planted(seed, sparse=True)
    split = random_split(graph, seed=0, train=0.3)
    share = 8 / graph.num_edges
    given = {"edge_fraction": share, "inner_steps": STEPS, "objective": objective, "flips_per_step": 1}
    done = perturb(graph, "metattack", split, seed=seed, **given)
    found = {tuple(pair) for pair in np.concatenate([done.added, done.removed]).tolist()}
    assert found == set(Dense(graph, split.train, objective).attack(8))
    assert len(found) == 8


def test_the_same_flips_in_pieces(monkeypatch):
    """Rows and pairs are taken a few at a time on large graphs; here even on a small one."""
    monkeypatch.setattr(gradient, "FULL", 2.0)
    graph = planted(1, sparse=True)
    split = random_split(graph, seed=0, train=0.3)
    given = {"edge_fraction": 0.1, "inner_steps": STEPS}
    whole = perturb(graph, "metattack", split, seed=0, **given)
    monkeypatch.setattr(gradient, "ROWS", 4)
    monkeypatch.setattr(gradient, "ENTRIES", 50)
    assert perturb(graph, "metattack", split, seed=0, **given).graph.hash == whole.graph.hash
