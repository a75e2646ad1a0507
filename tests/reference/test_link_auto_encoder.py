"""GPR-GAE's encoder, decoder, loss and passes, against dense matrices and pairs that are concatenated one by one."""

import numpy as np
import pytest
import torch

from gvdn.graph import Graph, random_split
from gvdn.methods.defences import gpr_gae
from gvdn.methods.defences.gpr_gae import GPRGAE, SMALLEST
from gvdn.methods.whitebox import WhiteBox
from gvdn.nn import gpr_gae as nn_gpr_gae
from gvdn.nn.gpr_gae import LinkAutoEncoder, normalised_links
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
NODES, FEATURES, WIDTH, FILTERS, PAIR_WIDTH, SYMMETRY = 7, 4, 3, 3, 5, 0.2
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [0, 3], [0, 2]])
"""One of them is there twice; node 6 has none."""
WEIGHTS = np.array([1.0, 2.5, 0.5, 1.5, 3.0, 1.0, 0.0, 0.25], dtype=np.float32)
GENUINE = np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=np.float32)


def relu(array: np.ndarray) -> np.ndarray:
    return np.maximum(array, 0)


def sigmoid(array: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-array))


class Dense:
    """The equations in double precision, with N x N matrices and a row of 2 z numbers for each pair."""

    def __init__(self, model: LinkAutoEncoder) -> None:
        parts = {name: part.detach().double().numpy() for name, part in model.named_parameters()}
        self.W, self.gamma, self.b_1, self.b_2 = parts["W"], parts["gamma"], parts["b_1"], parts["b_2"]
        first, second = np.split(parts["W_1"], 2, axis=1)
        self.W_1, self.w_2 = np.concatenate([first, second]), parts["w_2"]

    def nodes(self, X: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        A = np.zeros((len(X), len(X)))
        for (u, v), weight in zip(pairs, weights, strict=True):
            A[u, v] += weight
            A[v, u] += weight
        degrees = A.sum(axis=1)
        scale = np.diag([degree**-0.5 if degree else 0 for degree in degrees])
        S, XW = scale @ A @ scale, X.astype(np.float64) @ self.W
        filters = [XW]
        for k in range(1, len(self.gamma) + 1):
            filters.append(sum(self.gamma[k - 1, i] * np.linalg.matrix_power(S, i) @ XW for i in range(k + 1)))
        return np.concatenate(filters, axis=1)

    def logits(self, z: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """One direction: the first node of each pair, then the second."""
        pair = relu(np.concatenate([z[pairs[:, 0]], z[pairs[:, 1]]], axis=1))
        return (relu(pair @ self.W_1 + self.b_1) @ self.w_2)[:, 0] + self.b_2

    def both(self, X: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        z = self.nodes(X, pairs, weights)
        return np.stack([self.logits(z, pairs), self.logits(z, pairs[:, ::-1])])


@pytest.fixture
def model() -> LinkAutoEncoder:
    """Every parameter drawn, those too that begin with zeros."""
    made = LinkAutoEncoder(FEATURES, WIDTH, FILTERS, PAIR_WIDTH)
    rng = torch_generator(3, "test")
    with torch.no_grad():
        for part in made.parameters():
            part.normal_(std=0.6, generator=rng)
    return made


@pytest.fixture
def graph() -> Graph:
    features = np.random.default_rng(0).normal(size=(NODES, FEATURES)).astype(np.float32)
    return Graph.from_edges(PAIRS[:6], features, labels=np.arange(NODES) % 2)


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]


def view_of(graph: Graph, pairs: np.ndarray, weights: np.ndarray) -> View:
    u, v, values = tensors(pairs[:, 0], pairs[:, 1], weights)
    S = normalised_links(u, v, values, graph.num_nodes)
    return View(SparseMatrix(graph.adjacency, CPU, symmetric=True), graph, CPU, changing=True).through(S)


def test_the_encoder_mixes_the_hops_as_the_equation_says(model, graph):
    Z = model.encode(view_of(graph, PAIRS, WEIGHTS)).detach().numpy()
    expected = Dense(model).nodes(graph.features, PAIRS, WEIGHTS)
    np.testing.assert_allclose(np.concatenate(list(Z), axis=1), expected, rtol=1e-4, atol=1e-5)


def test_the_probability_of_a_link_is_the_mean_of_both_directions(model, graph, monkeypatch):
    monkeypatch.setitem(nn_gpr_gae.PIECE, "cpu", 3)
    found = model.probabilities(view_of(graph, PAIRS, WEIGHTS), *tensors(*PAIRS.T)).numpy()
    there, back = sigmoid(Dense(model).both(graph.features, PAIRS, WEIGHTS))
    assert np.abs(there - back).max() > 0.1
    np.testing.assert_allclose(found, (there + back) / 2, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_the_loss_and_its_gradient_do_not_depend_on_the_pieces(model, graph, piece, monkeypatch):
    monkeypatch.setitem(nn_gpr_gae.PIECE, "cpu", piece)
    loss = model.learn(view_of(graph, PAIRS, WEIGHTS), *tensors(*PAIRS.T, GENUINE), SYMMETRY)
    gradients = {name: part.grad.numpy().copy() for name, part in model.named_parameters()}

    def expected() -> float:
        s = Dense(model).both(graph.features, PAIRS, WEIGHTS)
        entropy = -(GENUINE * np.log(sigmoid(s)) + (1 - GENUINE) * np.log(sigmoid(-s))).mean()
        return entropy + SYMMETRY * np.square(np.subtract(*sigmoid(s))).mean()

    assert loss.item() == pytest.approx(expected(), rel=1e-5)
    assert not gradients["gamma"][0, 2:].any(), "the first filter has no third hop"
    for name, part in model.double().named_parameters():
        flat = part.data.view(-1)
        for entry in range(0, len(flat), max(len(flat) // 7, 1)):
            ends = []
            for step in (1e-6, -1e-6):
                flat[entry] += step
                ends.append(expected())
                flat[entry] -= step
            slope = (ends[0] - ends[1]) / 2e-6
            assert gradients[name].reshape(-1)[entry] == pytest.approx(slope, rel=1e-3, abs=1e-5), (name, entry)


@pytest.mark.parametrize("passes", [1, 3])
def test_each_pass_sees_the_weights_of_the_last(graph, passes, monkeypatch):
    monkeypatch.setattr(gpr_gae, "STILL", 0.0)
    own = np.array([2.0, 1.0, 0.5, 1.0, 1.0, 4.0])
    weighted = Graph.from_edges(graph.edges, graph.features, labels=graph.labels, weights=own)
    model = GPRGAE(epochs=2, hidden=4, link_steps=8, width=WIDTH, filters=FILTERS, pair_width=8, passes=passes)
    model.fit(weighted, random_split(weighted, seed=0, train=0.6, stratified=True), seed=0)
    dense, probs = Dense(model.network_.auto_encoder), np.ones(len(own))
    for _ in range(passes):
        probs = sigmoid(dense.both(graph.features, weighted.edges, own * probs)).mean(axis=0)
    assert np.ptp(probs) > 1e-3
    np.testing.assert_allclose(model.purified(weighted).edge_weights, own * probs, rtol=1e-4)


# ---- an attack through it


def dense_logits(model: GPRGAE, X: np.ndarray, pairs: np.ndarray, w: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """The logits with N x N matrices in double precision; `w` multiplies the weights that the links have."""
    part = {name: one.detach().double() for name, one in model.network_.named_parameters()}
    u, v = tensors(*pairs.T)
    X, nodes = torch.from_numpy(X.astype(np.float64)), len(X)

    def matrix(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros(nodes, nodes, dtype=torch.float64).index_put((u, v), values).index_put((v, u), values)

    missing, probs = (1 - matrix(w).sum(dim=1)).clamp(min=0), torch.ones_like(w)
    W_1 = part["auto_encoder.W_1"].chunk(2, dim=1)
    for _ in range(model.passes):
        A = matrix(w * own * probs.clamp(min=SMALLEST))
        scale = (A.sum(dim=1) + missing).rsqrt()
        S, filters = scale[:, None] * A * scale, [X @ part["auto_encoder.W"]]
        for k, gamma in enumerate(part["auto_encoder.gamma"], start=1):
            filters.append(sum(gamma[i] * torch.linalg.matrix_power(S, i) @ filters[0] for i in range(k + 1)))
        z = torch.cat(filters, dim=1).relu()
        both = [(z[one] @ W_1[0] + z[two] @ W_1[1] + part["auto_encoder.b_1"]).relu() for one, two in ((u, v), (v, u))]
        s = [(one @ part["auto_encoder.w_2"])[:, 0] + part["auto_encoder.b_2"] for one in both]
        probs = (s[0].sigmoid() + s[1].sigmoid()) / 2
    A_tilde = matrix(w * own * probs.clamp(min=SMALLEST)) + torch.eye(nodes)
    scale = A_tilde.sum(dim=1).rsqrt()
    A_hat = scale[:, None] * A_tilde * scale
    H = (A_hat @ X @ part["gnn.first.W"]).relu()
    return A_hat @ H @ part["gnn.out.W"]


@pytest.mark.parametrize("passes", [0, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_into_links_is_that_of_all_passes(graph, passes, weighted, monkeypatch):
    """Of links that are there in part, of whole ones and of candidates, also of the node without links."""
    monkeypatch.setattr(gpr_gae, "STILL", 0.0)
    monkeypatch.setitem(nn_gpr_gae.PIECE, "cpu", 3)
    own = np.array([2.0, 1.0, 0.5, 1.0, 1.0, 4.0]) if weighted else np.ones(6)
    graph = Graph.from_edges(graph.edges, graph.features, labels=graph.labels, weights=own)
    model = GPRGAE(epochs=5, hidden=4, link_steps=8, width=WIDTH, filters=FILTERS, pair_width=8, passes=passes)
    model.fit(graph, random_split(graph, seed=0, train=0.6, stratified=True), seed=0)
    pairs = np.concatenate([graph.edges, [[0, 5], [1, 6], [2, 6]]])
    own = torch.from_numpy(np.concatenate([own, np.ones(3)]))
    index = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    chosen = torch.randn(NODES, 2, generator=torch_generator(4, "test"))
    for w in ([1, 1, 1, 1, 1, 1, 1e-7, 1e-7, 0], [0.9, 0.5, 1, 0.3, 0.9, 0.2, 0.4, 0.6, 0.1]):
        ours = torch.tensor(w, requires_grad=True)
        found = WhiteBox(model).module(graph)(torch.zeros(NODES, 1), index, torch.cat([ours, ours]))
        exact = torch.tensor(w, dtype=torch.float64, requires_grad=True)
        expected = dense_logits(model, graph.features, pairs, exact, own)
        torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-4)
        (gradient,) = torch.autograd.grad((found * chosen).sum(), ours)
        (wanted,) = torch.autograd.grad((expected * chosen.double()).sum(), exact)
        torch.testing.assert_close(gradient.double(), wanted, atol=1e-4, rtol=1e-3)
        assert (wanted[6:].abs() > 1e-3).all(), "a candidate has a gradient"
