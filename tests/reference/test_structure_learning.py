"""ProGNN over candidate edges with a truncated spectral step, against the dense exact one that the paper describes."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from gvdn.graph import Graph, Split
from gvdn.graph.nearest import nearest_by_features
from gvdn.methods.defences.prognn import ProGNN, StructureTask, candidate_edges
from gvdn.nn.learned_graph import leading_eigenpairs, nuclear_step
from gvdn.nn.sparse import SparseMatrix
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
NODES = 9
TRAIN = np.array([0, 2, 5, 7])
NO_NODES = np.empty(0, dtype=np.int64)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(params=["dense", "sparse"])
def nine(request) -> Graph:
    """Nine nodes with positive features, so that all pairs are candidates, and two classes."""
    rng = np.random.default_rng(0)
    X = (rng.random((NODES, 5)) + 0.05).astype(np.float32)
    edges = np.argwhere(np.triu(rng.random((NODES, NODES)) < 0.35, 1))
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    return Graph.from_edges(edges, sp.csr_array(X) if request.param == "sparse" else X, labels=labels)


def exact(**changes) -> ProGNN:
    """All pairs are candidates, the rank is full, nothing is dropped."""
    settings = {"hidden": 4, "dropout": 0.0, "neighbours": NODES - 1, "rank": NODES, "structure_rate": 0.05}
    return ProGNN(**(settings | changes))


def task_of(model: ProGNN, graph: Graph) -> StructureTask:
    """What `fit` would train, before its first step."""
    model.ids_ = graph.ids
    model.pairs_, model.existing_ = candidate_edges(graph, model.neighbours)
    network = model.build(graph.num_features, graph.num_classes, seeded())
    train = (torch.from_numpy(TRAIN), torch.from_numpy(graph.labels[TRAIN]))
    none = (torch.from_numpy(NO_NODES), torch.from_numpy(NO_NODES))
    return model.task(network, graph, model.view(graph), train, none)


# ---- the dense exact version


@dataclass
class Dense:
    """min over S and W of |A - S|_F^2 + alpha |S|_1 + beta |S|_* + gamma L_ce, with N x N matrices in doubles."""

    graph: Graph
    how: ProGNN
    W: list[Tensor]

    def __post_init__(self) -> None:
        self.A = torch.from_numpy(self.graph.adjacency.toarray()).double()
        self.X = torch.from_numpy(sp.csr_array(self.graph.features).toarray()).double()
        self.S, self.velocity = self.A.clone(), torch.zeros_like(self.A)

    def surprise(self, S: Tensor) -> Tensor:
        """Cross entropy of the training nodes on this graph."""
        loops = S + torch.eye(len(S), dtype=S.dtype)
        scale = loops.sum(dim=1) ** -0.5
        A_hat = scale[:, None] * loops * scale[None, :]
        logits = A_hat @ torch.relu(A_hat @ self.X @ self.W[0]) @ self.W[1]
        return F.cross_entropy(logits[TRAIN], torch.from_numpy(self.graph.labels[TRAIN]))

    def structure_step(self) -> None:
        rate, S = self.how.structure_rate, self.S.clone().requires_grad_()
        (G,) = torch.autograd.grad(self.how.gamma * self.surprise(S), S)
        gradient = 2 * (self.S - self.A) + (G + G.T) / 2
        gradient.fill_diagonal_(0)  # S has no loops: its diagonal is no variable
        self.velocity = self.how.momentum * self.velocity + gradient
        S = self.S - rate * self.velocity
        values, U = torch.linalg.eigh(S)
        S = U @ torch.diag(values.sign() * F.relu(values.abs() - rate * self.how.beta)) @ U.T
        S = S.sign() * F.relu(S.abs() - rate * self.how.alpha)
        self.S = S.clamp(0, 1).fill_diagonal_(0)


def on_pairs(S: Tensor, model: ProGNN) -> np.ndarray:
    return S.detach()[tuple(model.pairs_.T)].numpy()


SETTINGS = [
    {},
    {"alpha": 0.5},
    {"beta": 0.0},
    {"beta": 6.0},
    {"gamma": 5.0, "beta": 0.1},
    {"momentum": 0.0},
    {"gamma": 0.0},
    {"structure_rate": 0.3, "gamma": 3.0},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_consecutive_steps_of_the_graph_are_the_dense_ones(setting, nine):
    model = exact(**setting)
    task = task_of(model, nine)
    assert len(model.pairs_) == NODES * (NODES - 1) // 2
    gnn = task.network.gnn
    dense = Dense(nine, model, [gnn.first.W.detach().double(), gnn.out.W.detach().double()])
    for _ in range(5):
        before = task.network.weights.clone()
        task.network.weights.copy_(task.next_weights(seeded()))
        dense.structure_step()
        np.testing.assert_allclose(task.network.weights.numpy(), on_pairs(dense.S, model), atol=2e-5)
    if setting.get("gamma") != 0.0:
        assert not torch.allclose(task.network.weights, before), "it moves"


def test_a_whole_fit_is_the_dense_one(nine):
    model = exact(epochs=4, steps=2, learning_rate=0.01, weight_decay=5e-4)
    model.fit(nine, Split(TRAIN, NO_NODES, NO_NODES), seed=3)
    fresh = model.build(nine.num_features, nine.num_classes, torch_generator(3, "init", "prognn")).gnn
    W = [layer.W.detach().double().requires_grad_() for layer in (fresh.first, fresh.out)]
    dense, adam = Dense(nine, model, W), torch.optim.Adam(W, lr=0.01, weight_decay=5e-4)
    losses = []
    for epoch in range(4):
        if epoch:
            dense.structure_step()
        for _ in range(2):
            adam.zero_grad()
            loss = dense.surprise(dense.S)
            losses.append(loss.item())
            loss.backward()
            adam.step()
    assert [record["ce"] for record in model.outcome_.history] == pytest.approx(losses, abs=1e-4)
    np.testing.assert_allclose(model.network_.weights.numpy(), on_pairs(dense.S, model), atol=1e-4)
    for layer, expected in zip((model.network_.gnn.first, model.network_.gnn.out), W, strict=True):
        np.testing.assert_allclose(layer.W.detach().numpy(), expected.detach().numpy(), atol=1e-3)


def test_the_gradient_of_an_edge_is_that_of_both_of_its_entries(nine):
    model = exact(gamma=2.0)
    task = task_of(model, nine)
    gnn = task.network.gnn
    dense = Dense(nine, model, [gnn.first.W.detach().double(), gnn.out.W.detach().double()])
    S = dense.S.clone().requires_grad_()
    (G,) = torch.autograd.grad(2.0 * dense.surprise(S), S)
    np.testing.assert_allclose(task.gradient_of_cross_entropy(seeded()).numpy(), on_pairs(G + G.T, model), atol=1e-5)


def test_a_step_of_the_graph_falls_between_every_few_steps_of_the_weights(nine):
    model = exact(steps=3)
    task, before = task_of(model, nine), []
    for epoch in range(8):
        before.append(task.network.weights.clone())
        task.losses(epoch, torch.Generator().manual_seed(epoch))
    before.append(task.network.weights)
    moved = [not torch.equal(one, other) for one, other in itertools.pairwise(before)]
    assert moved == [False, False, False, True, False, False, True, False]


def test_the_weights_of_the_edges_are_no_parameter_of_the_optimizer(nine):
    model = exact()
    task = task_of(model, nine)
    held = [tensor for group in model.optimizer(task.network).param_groups for tensor in group["params"]]
    assert {tuple(tensor.shape) for tensor in held} == {(5, 4), (4, 2)}
    assert "weights" in task.network.state_dict()


# ---- the truncated step


def test_a_truncated_step_takes_off_the_leading_singular_values_alone(barbell):
    """Two cliques of ten: two singular values near 9, the others near 1."""
    model = ProGNN(rank=2, gamma=0.0, alpha=0.0, beta=2.0, structure_rate=0.1, neighbours=0, dropout=0.0)
    task = task_of(model, barbell)
    values, U = np.linalg.eigh(barbell.adjacency.toarray().astype(float))
    leading = np.argsort(-np.abs(values))[:2]
    taken = (U[:, leading] * (np.sign(values[leading]) * 0.2)) @ U[:, leading].T
    expected = [1 - taken[a, b] for a, b in model.pairs_]
    np.testing.assert_allclose(task.next_weights(seeded()).numpy(), np.clip(expected, 0, 1), atol=1e-5)


def test_the_next_step_goes_on_from_the_vectors_of_the_last(barbell):
    model = ProGNN(rank=2, beta=2.0, structure_rate=0.05, neighbours=0, dropout=0.0)
    task = task_of(model, barbell)
    assert task.carried()["basis"].shape == (20, 0)
    for _ in range(6):
        weights = task.network.weights.copy_(task.next_weights(seeded()))
    S = np.zeros((20, 20))
    for (a, b), weight in zip(model.pairs_, weights.numpy(), strict=True):
        S[a, b] = S[b, a] = weight
    basis = task.carried()["basis"].double().numpy()
    found = np.sort(np.linalg.eigvalsh(basis.T @ S @ basis))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(S)[-2:], atol=1e-2)


def random_symmetric(values: list[float], seed: int = 0) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (Q * np.array(values)) @ Q.T


VALUES = [9.0, -7.0, 5.0, -0.4, 0.3, 0.2, -0.1, 0.0, 0.05, 0.02]


def sparse(matrix: np.ndarray) -> SparseMatrix:
    return SparseMatrix(sp.csr_array(matrix), CPU, symmetric=True)


def test_the_leading_eigenpairs_are_those_of_a_full_decomposition():
    matrix = random_symmetric(VALUES)
    values, vectors = leading_eigenpairs(sparse(matrix), torch.randn(10, 3), 10)
    np.testing.assert_allclose(sorted(values.tolist()), [-7, 5, 9], atol=1e-4)
    np.testing.assert_allclose((vectors.T @ vectors).numpy(), np.eye(3), atol=1e-5)
    np.testing.assert_allclose(matrix @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-3)


def test_a_start_that_spans_everything_gives_everything():
    matrix = random_symmetric(VALUES)
    for steps in (0, 2):
        values, vectors = leading_eigenpairs(sparse(matrix), torch.randn(10, 10), steps)
        np.testing.assert_allclose(values.numpy(), sorted(VALUES), atol=1e-4)
        np.testing.assert_allclose((vectors * values @ vectors.T).numpy(), matrix, atol=1e-4)


def test_a_matrix_of_zeros_has_no_nan():
    values, vectors = leading_eigenpairs(sparse(np.zeros((5, 5))), torch.randn(5, 3), 4)
    assert values.tolist() == [0, 0, 0]
    np.testing.assert_allclose((vectors.T @ vectors).numpy(), np.eye(3), atol=1e-5)


def every_entry(nodes: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(nodes), torch.arange(nodes))


@pytest.mark.parametrize("threshold", [0.15, 0.4, 6.0, 20.0])
def test_the_step_of_the_nuclear_norm_is_its_proximal_map(threshold):
    matrix = torch.from_numpy(random_symmetric(VALUES)).float()
    values, vectors = torch.linalg.eigh(matrix)
    after = matrix - nuclear_step(values, vectors, every_entry(10), threshold).view(10, 10)
    U, singular, Vt = torch.linalg.svd(matrix)
    torch.testing.assert_close(after, U @ torch.diag(F.relu(singular - threshold)) @ Vt, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("threshold", [0.15, 6.0])
def test_with_a_smaller_rank_the_smaller_singular_values_stay_as_they_are(threshold):
    matrix = random_symmetric(VALUES)
    values, vectors = leading_eigenpairs(sparse(matrix), torch.randn(10, 3), 20)
    after = matrix - nuclear_step(values, vectors, every_entry(10), threshold).view(10, 10).numpy()
    left = [max(9 - threshold, 0), -max(7 - threshold, 0), max(5 - threshold, 0), *VALUES[3:]]
    np.testing.assert_allclose(np.linalg.eigvalsh(after), sorted(left), atol=1e-4)


def test_no_edges_have_nothing_to_take_off():
    values, vectors = torch.ones(2), torch.eye(5)[:, :2]
    assert nuclear_step(values, vectors, torch.empty(0, 2, dtype=torch.int64), 0.5).tolist() == []


# ---- candidates


@pytest.mark.parametrize("neighbours", [0, 1, 3, 59])
def test_candidates_are_the_edges_and_the_nearest_in_order(neighbours, ring):
    pairs, existing = candidate_edges(ring, neighbours)
    edges = {tuple(edge) for edge in ring.edges.tolist()}
    near = {tuple(pair) for pair in nearest_by_features(ring, neighbours).tolist()}
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(edges | near)
    assert existing.tolist() == [tuple(pair) in edges for pair in pairs.tolist()]


def test_a_graph_without_edges_or_features_has_no_candidates():
    zeros = Graph.from_edges(np.empty((0, 2), dtype=np.int64), np.zeros((4, 2)))
    pairs, existing = candidate_edges(zeros, 3)
    assert pairs.shape == (0, 2)
    assert existing.shape == (0,)
