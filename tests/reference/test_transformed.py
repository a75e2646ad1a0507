"""GTrans: the surrogate loss, its gradients and the recovered model, against dense matrices node by node."""

import numpy as np
import pytest
import torch

from gvdn.graph import Graph, random_split
from gvdn.methods.defences import gtrans
from gvdn.methods.defences.gtrans import GTrans
from gvdn.nn.flips import FlippedLinks
from gvdn.nn.transformed import dropped_links, surrogate_loss
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
NODES, FEATURES, HIDDEN = 7, 4, 5
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5]])
CANDIDATES = np.array([[0, 1], [0, 4], [2, 3], [3, 6]])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
ORDER = np.array([3, 0, 6, 1, 5, 2, 4])


@pytest.fixture(params=[None, WEIGHTS], ids=["unweighted", "weighted"])
def graph(request) -> Graph:
    features = np.random.default_rng(0).normal(size=(NODES, FEATURES)).astype(np.float32)
    return Graph.from_edges(PAIRS, features, labels=np.arange(NODES) % 2, weights=request.param)


def normalised(A: np.ndarray) -> np.ndarray:
    loops = A + np.eye(len(A))
    scale = np.diag(loops.sum(axis=1) ** -0.5)
    return scale @ loops @ scale


def flipped(A: np.ndarray, candidates: np.ndarray, flips: np.ndarray) -> np.ndarray:
    after = A.copy()
    for (u, v), flip in zip(candidates, flips, strict=True):
        after[u, v] = after[v, u] = A[u, v] * (1 - flip) if A[u, v] else flip
    return after


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms else 0.0


def dense_loss(X: np.ndarray, W: np.ndarray, A: np.ndarray, stays: np.ndarray) -> float:
    """`stays` is 1 for each entry of A that is left when links are dropped."""
    Z, Z_hat = (np.maximum(normalised(one) @ X @ W, 0) for one in (A, A * stays))
    Z_tilde = np.maximum(normalised(A) @ X[ORDER] @ W, 0)
    terms = [(1 - cosine(h, z)) - (1 - cosine(t, z)) for z, h, t in zip(Z, Z_hat, Z_tilde, strict=True)]
    return float(np.mean(terms))


def test_the_surrogate_loss_and_its_gradients_are_those_of_the_equation(graph):
    X, A = graph.dense_features().astype(np.float64), graph.adjacency.toarray().astype(np.float64)
    links = FlippedLinks(graph, CANDIDATES, CPU)
    W = torch.randn(FEATURES, HIDDEN, generator=torch_generator(0, "test"))
    left = (torch.arange(len(links.pairs)) % 3 > 0).float()
    stays = np.ones_like(A)
    for u, v in links.pairs[left.numpy() == 0]:
        stays[u, v] = stays[v, u] = 0
    D = torch.zeros(NODES, FEATURES, requires_grad=True)
    flips = torch.tensor([0.2, 0.4, 0.7, 0.1], requires_grad=True)
    rows = torch.from_numpy(graph.dense_features()) @ W + D @ W
    loss = surrogate_loss(
        rows, links.propagation(flips), dropped_links(links, flips, left), torch.from_numpy(ORDER.copy())
    )
    loss.backward()

    def dense(change: np.ndarray, share: np.ndarray) -> float:
        return dense_loss(X + change, W.double().numpy(), flipped(A, CANDIDATES, share), stays)

    at = [np.zeros((NODES, FEATURES)), flips.detach().double().numpy()]
    assert loss.item() == pytest.approx(dense(*at), rel=1e-5)
    for number, found in enumerate((D.grad, flips.grad)):
        for entry in np.ndindex(at[number].shape):
            ends = []
            for step in (1e-6, -1e-6):
                at[number][entry] += step
                ends.append(dense(*at))
                at[number][entry] -= step
            assert float(found[entry]) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-2, abs=1e-4)


@pytest.fixture
def fitted(graph) -> GTrans:
    model = GTrans(hidden=HIDDEN, epochs=8, recovery_epochs=10, feature_rate=0.05, edge_fraction=0.5, block_size=30)
    return model.fit(graph, random_split(graph, seed=0, train=0.6, stratified=True), seed=0)


def test_the_recovered_model_is_the_gcn_on_the_transformed_graph(graph, fitted):
    work = gtrans._Transformation(fitted, graph)
    work.run(None)
    recovered = fitted.recover(graph)
    pairs, removed = work.flipped()
    assert 0 < len(pairs) <= 3, "half of six links"
    assert np.array_equal(recovered.pairs_, pairs)
    assert np.array_equal(recovered.removed_, removed)
    first, out = (one.W.detach().double().numpy() for one in (fitted.network_.first, fitted.network_.out))
    A = flipped(graph.adjacency.toarray().astype(np.float64), pairs, np.ones(len(pairs)))
    X = graph.dense_features() + work.D.detach().double().numpy()
    S = normalised(A)
    H = np.maximum(S @ X @ first, 0)
    logits = S @ H @ out
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(recovered.embed(graph), H, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(recovered.predict_proba(graph), expected, rtol=1e-3)
    np.testing.assert_allclose(recovered.transformed(graph).adjacency.toarray(), A, atol=1e-6)


def test_features_and_links_take_turns_and_flips_stay_within_the_budget(graph, fitted):
    work = gtrans._Transformation(fitted, graph)
    for number in range(5):
        before = work.D.detach().clone(), work.flips.detach().clone()
        work._by_features() if number < 4 else work._by_links()
        changed = [not torch.equal(one, two) for one, two in zip(before, (work.D, work.flips), strict=True)]
        assert changed == [number < 4, number == 4]
    assert work.budget == 3
    assert 0 < float(work.flips.detach().sum()) <= 3 + 1e-5
    assert ((work.flips >= 0) & (work.flips <= 1)).all()


def test_the_surrogate_loss_falls(fitted, graph):
    fitted.set_params(recovery_epochs=60)
    history = [record["surrogate"] for record in fitted.recover(graph).outcome_.history]
    assert np.mean(history[-10:]) < np.mean(history[:10])


def test_a_graph_with_other_nodes_gets_the_change_of_those_that_it_knows(graph, fitted):
    recovered = fitted.recover(graph)
    part = graph.subgraph(np.array([5, 4, 3]))
    kept = recovered.transformed(part)
    assert kept.ids.tolist() == [5, 4, 3]
    gone = {tuple(pair) for pair in recovered.pairs_[recovered.removed_].tolist()}
    expected = {pair for pair in [(3, 4), (4, 5)] if pair not in gone}
    expected |= {
        tuple(pair) for pair in recovered.pairs_[~recovered.removed_].tolist() if min(pair) >= 3 and max(pair) < 6
    }
    assert {tuple(sorted(kept.ids[list(edge)].tolist())) for edge in kept.edges} == expected
    again = recovered.update(graph, epochs=1)
    assert not again.recovered_
    assert len(again.ids_) == 0
