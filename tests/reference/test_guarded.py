"""GNNGuard's attention, memory and logits, against the equations node by node in double precision."""

import dataclasses

import numpy as np
import pytest
import torch

from gvdn.graph import Graph, random_split
from gvdn.methods.defences.gnnguard import GNNGuard
from gvdn.nn.guarded import GuardedGCN, GuardedView
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5], [1, 6]])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0])
NODES, FEATURES, HIDDEN, CLASSES, THRESHOLD = 8, 5, 4, 3, 0.1
"""Node 7 has no links; node 6 has no features."""


def graph(weights: np.ndarray | None = None) -> Graph:
    features = np.random.default_rng(0).normal(size=(NODES, FEATURES)).astype(np.float32)
    features[6] = 0
    return Graph.from_edges(PAIRS, features, labels=np.arange(NODES) % CLASSES, weights=weights)


def attention(H: np.ndarray, A: np.ndarray, threshold: float = THRESHOLD) -> np.ndarray:
    """alpha, one node after the other."""
    alpha = np.zeros_like(A)
    for u in range(len(H)):
        s = np.zeros(len(H))
        for v in np.flatnonzero(A[u]):
            norms = np.linalg.norm(H[u]) * np.linalg.norm(H[v])
            cosine = H[u] @ H[v] / norms if norms else 0.0
            s[v] = A[u, v] * cosine if cosine >= threshold and cosine > 0 else 0.0
        number = np.count_nonzero(s)
        if number:
            alpha[u] = s / s.sum() * number / (number + 1)
        alpha[u, u] = 1 / (number + 1)
    return alpha


def dense(network: GuardedGCN, X: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden layer and the logits."""
    part = {name: tensor.detach().double().numpy() for name, tensor in network.named_parameters()}
    omega = attention(X, A)
    H = np.maximum(omega @ X @ part["W_1"] + part["b_1"], 0)
    beta = 1 / (1 + np.exp(-part["memory"]))
    omega = beta * omega + (1 - beta) * attention(H, A)
    return H, omega @ H @ part["W_2"] + part["b_2"]


@pytest.fixture
def network() -> GuardedGCN:
    made = GuardedGCN(FEATURES, HIDDEN, CLASSES)
    with torch.no_grad():
        for part in made.parameters():
            part.normal_(generator=torch_generator(3, "test", str(part.shape)))
    return made


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_the_network_is_that_of_the_equations(network, weights):
    given = graph(weights)
    X, A = given.dense_features().astype(np.float64), given.adjacency.toarray().astype(np.float64)
    view = GuardedView(given, THRESHOLD, CPU)
    H, logits = dense(network, X, A)
    np.testing.assert_allclose(network.embed(view).detach(), H, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network(view).detach(), logits, rtol=1e-4, atol=1e-5)
    assert np.count_nonzero(attention(X, A)) < np.count_nonzero(A) + NODES, "some links are left out"


def test_rows_of_the_attention_sum_to_one_and_a_node_without_similar_links_has_itself_alone():
    given = graph()
    view = GuardedView(given, THRESHOLD, CPU)
    dense_rows = torch.zeros(NODES, NODES).index_put((view.rows, view.columns), view.first)
    np.testing.assert_allclose(dense_rows.sum(dim=1), 1, rtol=1e-6)
    assert dense_rows[6].tolist() == [0, 0, 0, 0, 0, 0, 1, 0], "without features, nothing is similar"
    assert dense_rows[7, 7] == 1
    assert (GuardedView(given, 1.0, CPU).first[~view.loops] == 0).all(), "no cosine reaches 1"


def test_gradients_are_those_of_the_equations_with_the_similarities_held(network):
    """By differences of the loss in double precision; W_1 changes the similarities too, which have no gradient."""
    given = graph()
    X, A = given.dense_features().astype(np.float64), given.adjacency.toarray().astype(np.float64)
    chosen = torch.arange(NODES * CLASSES, dtype=torch.float32).reshape(NODES, CLASSES)
    (network(GuardedView(given, THRESHOLD, CPU)) * chosen).sum().backward()
    gradients = {name: part.grad.clone() for name, part in network.named_parameters()}
    network.double()
    for name in ("W_2", "b_2", "memory"):
        flat, slopes = dict(network.named_parameters())[name].data.view(-1), []
        for entry in range(len(flat)):
            ends = []
            for step in (1e-6, -1e-6):
                flat[entry] += step
                ends.append((dense(network, X, A)[1] * chosen.numpy()).sum())
                flat[entry] -= step
            slopes.append((ends[0] - ends[1]) / 2e-6)
        np.testing.assert_allclose(gradients[name].flatten(), slopes, rtol=1e-3, atol=1e-3)
    assert gradients["W_1"].abs().max() > 0


def test_links_between_unlike_nodes_do_not_change_the_answer():
    """Features of two classes have no word in common, so links between the classes are left out."""
    rng = np.random.default_rng(1)
    labels = np.arange(40) % 2
    features = (rng.random((40, 12)) < 0.7) * ((np.arange(12) // 6)[None, :] == labels[:, None])
    within = np.array([(u, u + 2) for u in range(38)] + [(u, (u + 6) % 40) for u in range(40)])
    clean = Graph.from_edges(within, features.astype(np.float32), labels=labels)
    across = np.concatenate([clean.edges, [[0, 1], [0, 3], [0, 5], [0, 7], [0, 9]]])
    hurt = Graph.from_edges(across, clean.features, labels=labels)
    model = GNNGuard(hidden=4, epochs=40).fit(clean, random_split(clean, seed=0, train=0.3, stratified=True), seed=0)
    before, after = model.predict_proba(clean), model.predict_proba(dataclasses.replace(hurt, ids=clean.ids))
    assert model.score(clean) == 1
    assert model.predict(hurt)[0] == labels[0]
    assert np.abs(before[0] - after[0]).max() < 0.2
