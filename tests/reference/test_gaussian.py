"""RGCN's forward pass against a literal transcription of its equations with loops and dense matrices."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph
from gvdn.nn.gaussian import GaussianGCN, GaussianView

CPU = torch.device("cpu")
NODES, FEATURES, HIDDEN, CLASSES = 10, 5, 4, 3


@pytest.fixture(params=["dense", "sparse"])
def ten(request) -> Graph:
    """Ten nodes: two triangles, a path and one node without a neighbour."""
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3], [6, 7], [7, 8]])
    rng = np.random.default_rng(0)
    features = np.where(rng.random((NODES, FEATURES)) < 0.6, rng.normal(size=(NODES, FEATURES)), 0).astype(np.float32)
    return Graph.from_edges(edges, sp.csr_array(features) if request.param == "sparse" else features)


@pytest.fixture
def network() -> GaussianGCN:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GaussianGCN(FEATURES, HIDDEN, CLASSES, gamma=0.7)


def elu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def passed_on(graph: Graph, mean: np.ndarray, variance: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Each node gathers from its neighbours and itself, means by 1/sqrt(d_i d_j), variances by 1/(d_i d_j)."""
    near = {node: {node} for node in range(NODES)}
    for a, b in graph.edges:
        near[a].add(b)
        near[b].add(a)
    means, variances = np.zeros_like(mean), np.zeros_like(variance)
    for node in range(NODES):
        for other in near[node]:
            degrees = len(near[node]) * len(near[other])
            attention = np.exp(-gamma * variance[other])
            means[node] += mean[other] * attention / math.sqrt(degrees)
            variances[node] += variance[other] * attention * attention / degrees
    return means, variances


def by_hand(graph: Graph, network: GaussianGCN) -> tuple[np.ndarray, np.ndarray, float]:
    X = sp.csr_array(graph.features).toarray().astype(float)
    W_first, W_mean, W_variance = (
        tensor.detach().double().numpy() for tensor in (network.W_first, network.W_mean, network.W_variance)
    )
    mean, variance = elu(X @ W_first[:, :HIDDEN]), relu(X @ W_first[:, HIDDEN:])
    kl = 0.0
    for m, v in zip(mean.ravel(), variance.ravel(), strict=True):
        kl += 0.5 * (m * m + v - math.log(v + 1e-8) - 1) / NODES
    mean, variance = passed_on(graph, mean, variance, network.gamma)
    mean, variance = passed_on(graph, elu(mean @ W_mean), relu(variance @ W_variance), network.gamma)
    return mean, variance, kl


def test_the_mean_and_the_divergence_are_those_of_the_equations(ten, network):
    logits, kl = network(GaussianView(ten, CPU))
    mean, _, divergence = by_hand(ten, network)
    np.testing.assert_allclose(logits.detach().numpy(), mean, atol=1e-5)
    assert kl.item() == pytest.approx(divergence, rel=1e-5)


def test_noise_is_scaled_by_the_deviation_of_the_last_layer(ten, network):
    eps = torch.from_numpy(np.random.default_rng(1).normal(size=(NODES, CLASSES)).astype(np.float32))
    logits, _ = network(GaussianView(ten, CPU), eps=eps)
    mean, variance, _ = by_hand(ten, network)
    np.testing.assert_allclose(logits.detach().numpy(), mean + eps.numpy() * np.sqrt(variance), atol=1e-5)


def test_a_certain_network_is_a_graph_convolution(ten):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = GaussianGCN(FEATURES, HIDDEN, CLASSES, gamma=0.0)
    A = ten.adjacency.toarray() + np.eye(NODES)
    scale = np.diag(A.sum(axis=1) ** -0.5)
    A_hat, X = scale @ A @ scale, sp.csr_array(ten.features).toarray()
    first = elu(X @ network.W_first.detach().numpy()[:, :HIDDEN])
    expected = A_hat @ elu(A_hat @ first @ network.W_mean.detach().numpy())
    np.testing.assert_allclose(network(GaussianView(ten, CPU))[0].detach().numpy(), expected, atol=1e-5)


def test_the_gradient_is_finite_where_a_variance_is_zero(ten, network):
    zeros = Graph(ten.adjacency, np.zeros((NODES, FEATURES), dtype=np.float32))
    logits, kl = network(GaussianView(zeros, CPU), eps=torch.ones(NODES, CLASSES))
    (logits.sum() + kl).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())
