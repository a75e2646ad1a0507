"""Flips of links: the projection onto a budget, the flipped graph and the ascent, against dense matrices."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from gvdn.graph import Graph
from gvdn.nn.flips import RATE, FlippedLinks, largest, project, random_pairs, tanh_margin, worst_flips
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
NODES, CLASSES = 6, 3
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
CANDIDATES = np.array([[0, 1], [0, 4], [1, 5], [2, 3], [3, 5], [4, 5]])


@pytest.fixture(params=[None, WEIGHTS], ids=["unweighted", "weighted"])
def graph(request) -> Graph:
    return Graph.from_edges(PAIRS, np.eye(NODES), labels=np.arange(NODES) % CLASSES, weights=request.param)


def flipped(A: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """The dense adjacency after the flips: from its weight to 0, or from 0 to 1."""
    after = A.copy()
    for (u, v), flip in zip(CANDIDATES, flips, strict=True):
        after[u, v] = after[v, u] = A[u, v] * (1 - flip) if A[u, v] else flip
    return after


def normalised(A: np.ndarray) -> np.ndarray:
    loops = A + np.eye(len(A))
    scale = np.diag(loops.sum(axis=1) ** -0.5)
    return scale @ loops @ scale


@pytest.mark.parametrize("budget", [1, 2, 10])
@pytest.mark.parametrize("seed", range(4))
def test_the_projection_is_the_nearest_point_within_the_budget(budget, seed):
    given = np.random.default_rng(seed).normal(0.5, 1, 8)
    found = project(torch.from_numpy(given), budget)
    best = minimize(
        lambda x: ((x - given) ** 2).sum(),
        np.full(8, 0.05),
        bounds=[(0, 1)] * 8,
        constraints={"type": "ineq", "fun": lambda x: budget - x.sum()},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert float(found.sum()) <= budget + 1e-6
    assert len(project(torch.empty(0), budget)) == 0


def test_the_largest_flips_above_zero_are_chosen():
    flips = torch.tensor([0.2, 0.0, 0.9, 0.0, 0.4])
    assert largest(flips, 2).tolist() == [0, 0, 1, 0, 1]
    assert largest(flips, 9).tolist() == [1, 0, 1, 0, 1]
    assert largest(flips, 0).tolist() == [0] * 5


def test_the_flipped_graph_is_that_of_dense_matrices(graph):
    A, links = graph.adjacency.toarray().astype(np.float64), FlippedLinks(graph, CANDIDATES, CPU)
    flips = torch.tensor([0.3, 0.0, 1.0, 1.0, 0.5, 0.25])
    for given in (links.none(), flips):
        found = links.propagation(given) @ torch.eye(NODES)
        np.testing.assert_allclose(found, normalised(flipped(A, given.double().numpy())), atol=1e-6)


def dense_loss(A: np.ndarray, flips: np.ndarray, H: np.ndarray, labels: np.ndarray) -> float:
    logits, values = normalised(flipped(A, flips)) @ H, []
    for row, label in zip(logits, labels, strict=True):
        values.append(np.tanh(np.delete(row, label).max() - row[label]))
    return float(np.mean(values))


@pytest.mark.parametrize("steps", [1, 3])
def test_the_ascent_follows_the_gradient_and_projects(graph, steps, monkeypatch):
    monkeypatch.setattr("gvdn.nn.flips.RATE", 40.0)
    A, links = graph.adjacency.toarray().astype(np.float64), FlippedLinks(graph, CANDIDATES, CPU)
    H = torch.randn(NODES, CLASSES, generator=torch_generator(0, "test"))
    labels, budget = torch.arange(NODES) % CLASSES, 2
    found = worst_flips(links, lambda S: tanh_margin(S @ H, labels), budget, steps)
    flips = np.zeros(len(CANDIDATES))
    for _ in range(steps):
        gradient = np.zeros_like(flips)
        for entry in range(len(flips)):
            ends = []
            for step in (1e-6, -1e-6):
                moved = flips.copy()
                moved[entry] += step
                ends.append(dense_loss(A, moved, H.double().numpy(), labels.numpy()))
            gradient[entry] = (ends[0] - ends[1]) / 2e-6
        flips = project(torch.from_numpy(flips + 40.0 * budget / NODES * gradient), budget).numpy()
    chosen = np.argsort(-flips)[:budget]
    expected = np.zeros_like(flips)
    expected[chosen[flips[chosen] > 0]] = 1
    assert found.tolist() == expected.tolist()
    before, after = (dense_loss(A, one, H.double().numpy(), labels.numpy()) for one in (0 * flips, expected))
    assert after > before
    assert RATE == 1000


def test_without_a_budget_or_a_candidate_nothing_is_flipped(graph):
    links = FlippedLinks(graph, CANDIDATES, CPU)
    assert not worst_flips(links, lambda S: (S @ torch.ones(NODES, 1)).sum(), 0, 3).any()
    none = FlippedLinks(graph, CANDIDATES[:0], CPU)
    assert len(worst_flips(none, lambda S: (S @ torch.ones(NODES, 1)).sum(), 2, 3)) == 0


def test_random_pairs_are_pairs_and_all_are_drawn():
    pairs = random_pairs(5, 400, torch_generator(0, "test"))
    assert pairs.tolist() == [[u, v] for u in range(5) for v in range(u + 1, 5)]
    assert random_pairs(1, 10, torch_generator(0, "test")).shape == (0, 2)
