"""Message passing of AirGNN, Elastic GNN and GPR-GNN, against dense matrices, node by node and link by link."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph, normalised_adjacency, random_split
from gvdn.methods.defences.airgnn import AirGNN
from gvdn.methods.defences.elastic_gnn import ElasticGNN
from gvdn.nn.elastic import ElasticView, elastic
from gvdn.nn.propagated import GPRGNN, PropagatedMLP, adaptive_residual
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, WeightedEdges, propagation

CPU = torch.device("cpu")
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5], [1, 4]])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.25])
NODES, FEATURES, CLASSES = 7, 5, 3
"""Node 6 has no links."""


@pytest.fixture(params=[None, WEIGHTS], ids=["unweighted", "weighted"])
def graph(request) -> Graph:
    features = np.random.default_rng(0).normal(size=(NODES, FEATURES)).astype(np.float32)
    return Graph.from_edges(PAIRS, features, labels=np.arange(NODES) % 2, weights=request.param)


@pytest.fixture
def view(graph) -> View:
    return View(propagation(graph, "gcn", CPU), graph, CPU, changing=True)


@pytest.fixture
def S(graph) -> np.ndarray:
    A = graph.adjacency.toarray().astype(np.float64) + np.eye(NODES)
    scale = np.diag(A.sum(axis=1) ** -0.5)
    assert np.allclose(scale @ A @ scale, normalised_adjacency(graph).toarray(), atol=1e-6)
    return scale @ A @ scale


def rows(seed: int = 1, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(seed).normal(size=(NODES, CLASSES))


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.astype(np.float32))


def hidden(network: PropagatedMLP, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden layer and what is propagated, before it is."""
    part = {name: one.detach().double().numpy() for name, one in network.named_parameters()}
    H = np.maximum(X.astype(np.float64) @ part["W_1"] + part["b_1"], 0)
    return H, H @ part["W_2"] + part["b_2"]


# ---- AirGNN


def dense_adaptive(S: np.ndarray, X_in: np.ndarray, weight: float, steps: int) -> np.ndarray:
    """Proximal gradient, with the step size written out: a gradient step, then the proximal map of the norms."""
    gamma, X = 1 / (2 * (1 - weight)), X_in
    for _ in range(steps):
        Y = X - gamma * 2 * (1 - weight) * (X - S @ X)
        new = []
        for y, x_in in zip(Y, X_in, strict=True):
            norm = np.linalg.norm(y - x_in)
            new.append(x_in + (max(norm - gamma * weight, 0) / norm if norm else 0) * (y - x_in))
        X = np.array(new)
    return X


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_adaptive_message_passing_is_proximal_gradient_descent(view, S, weight, steps):
    X_in = rows(scale=0.7)
    found = adaptive_residual(view, tensor(X_in), weight, steps)
    np.testing.assert_allclose(found, dense_adaptive(S, X_in, weight, steps), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weight", [0.1, 0.5])
def test_adaptive_message_passing_lowers_its_objective(view, S, weight):
    X_in = rows()

    def objective(X: np.ndarray) -> float:
        smooth = np.trace(X.T @ (np.eye(NODES) - S) @ X)
        return (1 - weight) * smooth + weight * np.linalg.norm(X - X_in, axis=1).sum()

    values = [objective(adaptive_residual(view, tensor(X_in), weight, steps).double().numpy()) for steps in range(6)]
    assert all(after <= before + 1e-6 for before, after in itertools.pairwise(values))
    assert values[-1] < values[0]


def test_the_gradient_is_finite_where_nothing_changes(view):
    X_in = torch.zeros(NODES, CLASSES, requires_grad=True)
    for weight in (0.0, 0.5):
        adaptive_residual(view, X_in, weight, 3).sum().backward()
    assert X_in.grad.isfinite().all()


def test_airgnn_is_the_network_and_then_the_message_passing(graph, S):
    model = AirGNN(hidden=4, epochs=5, residual_weight=0.3, order=4)
    model.fit(graph, random_split(graph, seed=0, train=0.6, stratified=True), seed=0)
    H, before = hidden(model.network_, graph.dense_features())
    logits = dense_adaptive(S, before, 0.3, 4)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(graph), expected, rtol=1e-4)
    np.testing.assert_allclose(model.embed(graph), dense_adaptive(S, H, 0.3, 4), rtol=1e-3, atol=1e-5)


# ---- Elastic GNN


def incidence(graph: Graph) -> np.ndarray:
    degrees = graph.adjacency.toarray().astype(np.float64).sum(axis=1) + 1
    B = np.zeros((graph.num_edges, NODES))
    for link, ((i, j), weight) in enumerate(zip(graph.edges, graph.edge_weights, strict=True)):
        B[link, i], B[link, j] = np.sqrt(weight / degrees[i]), -np.sqrt(weight / degrees[j])
    return B


def dense_elastic(
    B: np.ndarray, S: np.ndarray, X_in: np.ndarray, lambda_1: float, lambda_2: float, steps: int
) -> np.ndarray:
    """The primal-dual iteration with the gradient step, the two matrix products and the projection written out."""
    gamma, X, Z = 1 / (1 + lambda_2), X_in, np.zeros((len(B), X_in.shape[1]))
    for _ in range(steps):
        Y = X - gamma * (X - X_in + lambda_2 * (X - S @ X))
        Z = Z + (1 + lambda_2) / 2 * B @ (Y - gamma * B.T @ Z)
        for row in Z:
            row *= min(1, lambda_1 / np.linalg.norm(row)) if row.any() else 1
        X = Y - gamma * B.T @ Z
    return X


def test_the_incidence_matrix_squares_to_the_laplacian(graph, S):
    view = ElasticView(graph, CPU)
    B = incidence(graph)
    np.testing.assert_allclose(B.T @ B, np.eye(NODES) - S, atol=1e-12)
    np.testing.assert_allclose(view.B @ torch.eye(NODES), B, atol=1e-6)
    np.testing.assert_allclose(view.B_T @ torch.eye(len(B)), B.T, atol=1e-6)


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0.0, 0.0), (0.0, 3.0), (3.0, 0.0), (0.2, 3.0), (3.0, 9.0)])
@pytest.mark.parametrize("steps", [0, 1, 6])
def test_elastic_message_passing_is_the_primal_dual_iteration(graph, S, lambda_1, lambda_2, steps):
    X_in = rows()
    found = elastic(ElasticView(graph, CPU), tensor(X_in), lambda_1, lambda_2, steps)
    expected = dense_elastic(incidence(graph), S, X_in, lambda_1, lambda_2, steps)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0.3, 0.0), (0.3, 3.0)])
def test_elastic_message_passing_ends_at_the_minimum_of_its_objective(graph, S, lambda_1, lambda_2):
    X_in, B = rows(), incidence(graph)

    def objective(X: np.ndarray) -> float:
        smooth = np.trace(X.T @ (np.eye(NODES) - S) @ X)
        return lambda_1 * np.linalg.norm(B @ X, axis=1).sum() + lambda_2 / 2 * smooth + ((X - X_in) ** 2).sum() / 2

    X = elastic(ElasticView(graph, CPU), tensor(X_in), lambda_1, lambda_2, 300).double().numpy()
    rng, lowest = np.random.default_rng(2), objective(X)
    assert lowest < objective(X_in)
    for _ in range(50):
        assert objective(X + 0.02 * rng.normal(size=X.shape)) > lowest - 1e-6


def test_elastic_gnn_is_the_network_and_then_the_message_passing(graph, S):
    model = ElasticGNN(hidden=4, epochs=5, lambda_1=0.4, lambda_2=2.0, order=4)
    model.fit(graph, random_split(graph, seed=0, train=0.6, stratified=True), seed=0)
    H, before = hidden(model.network_, graph.dense_features())
    logits, around = (dense_elastic(incidence(graph), S, one, 0.4, 2.0, 4) for one in (before, H))
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(graph), expected, rtol=1e-4)
    np.testing.assert_allclose(model.embed(graph), around, rtol=1e-3, atol=1e-5)


def test_the_gradient_of_elastic_message_passing_is_finite_where_nothing_differs(graph):
    X_in = torch.zeros(NODES, CLASSES, requires_grad=True)
    elastic(ElasticView(graph, CPU), X_in, 3.0, 3.0, 3).sum().backward()
    assert X_in.grad.isfinite().all()


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0.0, 3.0), (0.4, 0.0), (3.0, 0.0), (0.4, 2.0)])
def test_elastic_message_passing_has_the_gradient_of_every_link_also_where_it_is_not_there(graph, lambda_1, lambda_2):
    pairs = np.array([*PAIRS, [0, 3], [5, 6]])
    w = np.append(np.linspace(0.2, 1, len(PAIRS)), [0, 0])
    X_in, R = rows(scale=2.0), rows(seed=3)

    def value(w: np.ndarray) -> float:
        A = np.eye(NODES)
        A[pairs[:, 0], pairs[:, 1]] = A[pairs[:, 1], pairs[:, 0]] = w
        d = A.sum(axis=1)
        B, every = np.zeros((len(pairs), NODES)), np.arange(len(pairs))
        B[every, pairs[:, 0]], B[every, pairs[:, 1]] = np.sqrt(w / d[pairs[:, 0]]), -np.sqrt(w / d[pairs[:, 1]])
        return (dense_elastic(B, A / np.sqrt(np.outer(d, d)), X_in, lambda_1, lambda_2, 5) * R).sum()

    weights = tensor(w).requires_grad_()
    view = ElasticView(graph, CPU).over(WeightedEdges(pairs, NODES, CPU), weights)
    found = (elastic(view, tensor(X_in), lambda_1, lambda_2, 5) * tensor(R)).sum()
    (gradient,) = torch.autograd.grad(found, weights)
    quotients = [(value(w + step) - value(w)) / 1e-6 for step in 1e-6 * np.eye(len(w))]
    assert found.item() == pytest.approx(value(w), rel=1e-4)
    np.testing.assert_allclose(gradient, quotients, rtol=1e-2, atol=1e-3)
    assert np.abs(quotients[-2:]).min() > 1e-2


# ---- GPR-GNN


def test_gpr_gnn_is_a_sum_of_powers_with_learned_coefficients(graph, view, S):
    network = GPRGNN(FEATURES, 4, CLASSES, order=3, alpha=0.1)
    np.testing.assert_allclose(network.gamma.detach(), [0.1, 0.09, 0.081, 0.729], rtol=1e-6)
    network.gamma.data = torch.tensor([0.5, -1.0, 0.25, 2.0])
    H, before = hidden(network, graph.dense_features())
    for given, found in (
        (before, network(view, network.diffuse(view))),
        (H, network.embed(view, network.diffuse(view))),
    ):
        expected = sum(c * np.linalg.matrix_power(S, k) @ given for k, c in enumerate([0.5, -1.0, 0.25, 2.0]))
        np.testing.assert_allclose(found.detach(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_the_gradients_of_a_polynomial_are_those_of_its_dense_form(order):
    draw = torch.Generator().manual_seed(0)
    pattern = torch.tensor([[0.5, 0.2, 0.0], [0.2, 0.0, 0.7], [0.0, 0.7, 0.1]], dtype=torch.float32)
    where = pattern.nonzero(as_tuple=True)
    values = pattern[where].clone().requires_grad_()
    X, weights = (torch.randn(shape, generator=draw).requires_grad_() for shape in ((3, 2), (order + 1,)))
    sparse = SparseMatrix(sp.csr_array(pattern.numpy()), CPU, symmetric=True).with_values(values)
    dense = torch.zeros(3, 3).index_put(where, values)
    expected = sum(weights[k] * torch.linalg.matrix_power(dense, k) @ X for k in range(order + 1))
    found = sparse.polynomial(X, weights)
    torch.testing.assert_close(found, expected)
    factor = torch.randn(3, 2, generator=draw)
    wanted = (X, weights, values) if order else (X, weights)
    ours, theirs = (torch.autograd.grad((one * factor).sum(), wanted) for one in (found, expected))
    torch.testing.assert_close(ours, theirs)
