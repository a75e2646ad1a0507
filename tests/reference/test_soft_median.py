"""Soft Median GDC, against an inverted matrix and medians that are found one node and one dimension at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph, normalised_adjacency, random_split
from gvdn.graph.pagerank import top_pagerank
from gvdn.methods.defences.soft_median_gdc import SoftMedianGDC
from gvdn.nn import diffused, soft_median
from gvdn.nn.diffused import AttackedNeighbours
from gvdn.nn.soft_median import NeighboursView, SoftMedianGCN, median_nodes, ranks
from gvdn.nn.view import WeightedEdges
from gvdn.seeds import torch_generator

CPU = torch.device("cpu")
NODES, FEATURES, HIDDEN, CLASSES, ALPHA, NEIGHBOURS = 30, 6, 5, 3, 0.15, 7


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def graph(request) -> Graph:
    """Thirty nodes with random links; the last has none."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, NODES - 1, (60, 2))
    weights = rng.uniform(0.5, 3, len(pairs)) if request.param else None
    features = rng.normal(size=(NODES, FEATURES)).astype(np.float32)
    return Graph.from_edges(pairs, features, labels=np.arange(NODES) % CLASSES, weights=weights)


# ---- personalised PageRank


def dense_pagerank(graph: Graph, number: int) -> np.ndarray:
    A = normalised_adjacency(graph).toarray().astype(np.float64)
    P = ALPHA * np.linalg.inv(np.eye(len(A)) - (1 - ALPHA) * A)
    for row in P:
        row[np.argsort(-row)[number:]] = 0
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("number", [1, NEIGHBOURS, NODES])
@pytest.mark.parametrize("block", [1, 100, 1 << 22])
def test_the_rows_are_the_largest_entries_of_the_inverse(graph, number, block, monkeypatch):
    monkeypatch.setattr("gvdn.graph.pagerank.BLOCK", block)
    found = top_pagerank(graph, ALPHA, number, smallest=1e-12).toarray()
    expected = dense_pagerank(graph, number)
    assert (np.count_nonzero(found, axis=1) <= number).all()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_dropping_small_residuals_changes_little(graph):
    few = top_pagerank(graph, ALPHA, NODES).toarray()
    assert 0 < np.abs(few - dense_pagerank(graph, NODES)).max() < 5e-3


def test_a_node_without_links_has_itself_alone(graph):
    assert top_pagerank(graph, ALPHA, 4).toarray()[-1].tolist() == [0.0] * (NODES - 1) + [1.0]


def test_of_equal_entries_the_same_nodes_are_kept_in_every_order():
    """The leaves of a star are equal; features tell them apart, positions must not."""
    features = np.random.default_rng(1).random((21, 4))
    star = Graph.from_edges([(0, leaf) for leaf in range(1, 21)], features, ids=np.arange(21))
    order = np.random.default_rng(2).permutation(21)
    found, moved = (top_pagerank(one, ALPHA, 6).toarray() for one in (star, star.subgraph(order)))
    assert np.count_nonzero(found[0]) == 6
    np.testing.assert_array_equal(moved > 0, found[np.ix_(order, order)] > 0)


# ---- the soft median


def dense_soft_median(S: np.ndarray, X: np.ndarray, temperature: float) -> np.ndarray:
    result = np.zeros_like(X)
    for node, a in enumerate(S):
        near = np.flatnonzero(a)
        x_bar = np.zeros(X.shape[1])
        for column in range(X.shape[1]):
            order = near[np.argsort(X[near, column])]
            half = a.sum() / 2
            x_bar[column] = X[order[np.flatnonzero(a[order].cumsum() >= half - 1e-7)[0]], column]
        c = np.linalg.norm(X[near] - x_bar, axis=1) / np.sqrt(X.shape[1])
        s = np.exp(-c / temperature)
        s = s / s.sum() * a[near]
        result[node] = a.sum() * (s[:, None] * X[near]).sum(axis=0) / s.sum()
    return result


@pytest.fixture
def S(graph) -> sp.csr_array:
    return sp.csr_array(top_pagerank(graph, ALPHA, NEIGHBOURS) * np.float32(1.5))


@pytest.mark.parametrize("temperature", [0.05, 0.2, 5.0])
@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
@pytest.mark.parametrize("held", [0, 1 << 28])
def test_the_soft_median_is_that_of_the_equations(graph, S, temperature, piece, held, monkeypatch):
    monkeypatch.setitem(soft_median.PIECE, "cpu", piece)
    monkeypatch.setattr(soft_median, "HELD", held)
    X = torch.randn(NODES, HIDDEN, generator=torch_generator(1, "test")).requires_grad_()
    found = NeighboursView(graph, S, temperature, CPU).soft_median(X)
    expected = dense_soft_median(S.toarray().astype(np.float64), X.detach().double().numpy(), temperature)
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-4, atol=1e-5)
    chosen = torch.randn(found.shape, generator=torch_generator(2, "test"))
    (found * chosen).sum().backward()
    x, slopes = X.detach().double().numpy(), []
    for entry in [(0, 0), (5, 2), (17, 4), (29, 1)]:
        ends = []
        for step in (1e-6, -1e-6):
            x[entry] += step
            again = dense_soft_median(S.toarray().astype(np.float64), x, temperature)
            ends.append((again * chosen.double().numpy()).sum())
            x[entry] -= step
        slopes.append((ends[0] - ends[1]) / 2e-6)
        assert float(X.grad[entry]) == pytest.approx(slopes[-1], rel=1e-2, abs=1e-3)


def test_a_high_temperature_is_the_weighted_sum_and_a_low_one_the_row_nearest_to_the_median(graph, S):
    X = torch.randn(NODES, HIDDEN, generator=torch_generator(1, "test"))
    high, low = (NeighboursView(graph, S, temperature, CPU).soft_median(X) for temperature in (1e6, 1e-4))
    np.testing.assert_allclose(high, S @ X.numpy(), rtol=1e-3, atol=1e-4)
    assert ((low[:, None] / 1.5 - X[None]).norm(dim=2).amin(dim=1) < 1e-3).all()


def test_equal_weights_have_the_lower_median():
    order = ranks(torch.tensor([[3.0], [1.0], [4.0], [2.0]]))
    neighbours, weights = torch.arange(4)[None], torch.full((1, 4), 0.1)
    assert median_nodes(order, neighbours, weights).tolist() == [[3]], "the node whose number is 2"
    padded = torch.tensor([[0.1, 0.1, 0.1, 0.0]])
    assert median_nodes(order, neighbours, padded).tolist() == [[0]], "the node of weight 0 does not count"


def test_the_network_is_two_soft_medians(graph):
    model = SoftMedianGDC(hidden=HIDDEN, epochs=5, neighbours=NEIGHBOURS, temperature=0.3)
    model.fit(graph, random_split(graph, seed=0, train=0.3, stratified=True), seed=0)
    assert isinstance(model.network_, SoftMedianGCN)
    part = {name: one.detach().double().numpy() for name, one in model.network_.named_parameters()}
    S = top_pagerank(graph, ALPHA, NEIGHBOURS).toarray().astype(np.float64)
    X = graph.dense_features().astype(np.float64)
    H = np.maximum(dense_soft_median(S, X @ part["W_1"], 0.3) + part["b_1"], 0)
    logits = dense_soft_median(S, H @ part["W_2"], 0.3) + part["b_2"]
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.embed(graph), H, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(graph), expected, rtol=1e-3)


# ---- an attack through it


def dense_rows(w: torch.Tensor, pairs: np.ndarray, kept: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """The kept entries of the inverse divided by their sum; those of candidates are 0 and move as the inverse's do."""
    u, v = torch.from_numpy(pairs.T.copy())
    A = torch.eye(NODES, dtype=torch.float64).index_put((u, v), w).index_put((v, u), w)
    scale = A.sum(dim=1).rsqrt()
    P = ALPHA * torch.linalg.inv(torch.eye(NODES) - (1 - ALPHA) * scale[:, None] * A * scale)
    chosen = P * kept + (P - P.detach()) * candidates
    return chosen / chosen.sum(dim=1, keepdim=True)


def attacked(graph: Graph, number: int, w: torch.Tensor, pairs: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """S as a dense matrix with a gradient into w, and where it has entries."""
    view = AttackedNeighbours(graph, ALPHA, number, 0.3, CPU).over(WeightedEdges(pairs, NODES, CPU), w)
    rows = torch.arange(NODES)[:, None].expand_as(view.neighbours)
    S = torch.zeros(NODES, NODES).index_put((rows, view.neighbours), view.weights, accumulate=True)
    return S, S > 0


@pytest.mark.parametrize("number", [NEIGHBOURS, NODES])
@pytest.mark.parametrize("smallest", [1e-9, 1e-4])
@pytest.mark.parametrize("block", [1, 1 << 22])
def test_the_gradient_of_the_rows_is_that_of_the_inverse(graph, number, smallest, block, monkeypatch):
    """With next to no residual dropped to three digits, and with those that are dropped for speed nearly so."""
    monkeypatch.setattr(diffused, "SMALLEST", smallest)
    monkeypatch.setattr(diffused, "BLOCK", block)
    monkeypatch.setattr(diffused, "PIECE", 7 if block == 1 else 1 << 13)
    new = np.array([[0, 29], [3, 17], [5, 11], [8, 29]])
    assert not {tuple(pair) for pair in new.tolist()} & {tuple(edge) for edge in graph.edges.tolist()}
    pairs = np.concatenate([graph.edges, new])
    own = torch.from_numpy(np.concatenate([graph.edge_weights, np.ones(len(new), dtype=np.float32)]))
    chosen = torch.randn(NODES, NODES, generator=torch_generator(3, "test"))
    part = torch.rand(len(pairs), generator=torch_generator(4, "test"))
    for share in (torch.cat([torch.ones(graph.num_edges), torch.full((4,), 1e-10)]), 0.2 + 0.8 * part):
        w = (own * share).requires_grad_()
        S, there = attacked(graph, number, w, pairs)
        kept = S > 1e-9
        exact = w.detach().double().requires_grad_()
        expected = dense_rows(exact, pairs, kept, there & ~kept)
        torch.testing.assert_close(S.double(), expected, atol=50 * smallest + 1e-6, rtol=0)
        (gradient,) = torch.autograd.grad((S * chosen).sum(), w)
        (wanted,) = torch.autograd.grad((expected * chosen.double()).sum(), exact)
        off = (gradient.double() - wanted).norm() / wanted.norm()
        assert off < (1e-3 if smallest < 1e-8 else 0.05)
        assert (gradient[-4:] != 0).all(), "a candidate has a gradient"


def test_without_a_change_the_rows_are_those_of_the_method(graph):
    new = np.array([[0, 29], [3, 17]])
    w = torch.from_numpy(np.concatenate([graph.edge_weights, [np.float32(1e-7), np.float32(0)]]))
    S, _ = attacked(graph, NEIGHBOURS, w, np.concatenate([graph.edges, new]))
    expected = top_pagerank(graph, ALPHA, NEIGHBOURS).toarray()
    np.testing.assert_allclose(S, expected, atol=1e-9, rtol=0)
    assert np.array_equal((S > 1e-9).numpy(), expected > 0)


def test_the_soft_median_has_a_gradient_into_the_weights(graph, S):
    X = torch.randn(NODES, HIDDEN, generator=torch_generator(1, "test"))
    chosen = torch.randn(NODES, HIDDEN, generator=torch_generator(2, "test"))
    view = NeighboursView(graph, S, 0.2, CPU)
    view.weights.requires_grad_()
    (gradient,) = torch.autograd.grad((view.soft_median(X) * chosen).sum(), view.weights)
    found = []
    for row in range(0, NODES, 3):
        for place in range(int((view.weights[row] > 0).sum())):
            ends, dense = [], S.toarray().astype(np.float64)
            for step in (1e-6, -1e-6):
                dense[row, view.neighbours[row, place]] += step
                rows = dense_soft_median(dense, X.double().numpy(), 0.2)
                ends.append((rows * chosen.double().numpy()).sum())
                dense[row, view.neighbours[row, place]] -= step
            found.append((float(gradient[row, place]), (ends[0] - ends[1]) / 2e-6))
    found, slopes = np.array(found).T
    np.testing.assert_allclose(found, slopes, atol=1e-3, rtol=1e-2)
