"""Graphs with weighted edges, and DropEdge on them, against dense matrices and dense autograd."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph
from gvdn.methods.defences.dropedge import DropEdge
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.view import View, WeightedEdges, WeightedView, propagation

CPU = torch.device("cpu")
NODES = 8
EDGES = np.array([[0, 1], [5, 2], [2, 3], [0, 3], [4, 1], [1, 2]])  # node 6 and 7 have none; [5, 2] the wrong way round


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def weights(seed: int, number: int = len(EDGES)) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(number).astype(np.float32))


def written_out(w: torch.Tensor) -> torch.Tensor:
    """S with the weight of {i, j} in both entries; torch computes the gradient."""
    S = torch.zeros(NODES, NODES, dtype=w.dtype)
    i, j = torch.from_numpy(EDGES.T.copy())
    return S.index_put((i, j), w).index_put((j, i), w)


def normalised(S: torch.Tensor) -> torch.Tensor:
    loops = S + torch.eye(len(S), dtype=S.dtype)
    scale = loops.sum(dim=1) ** -0.5
    return scale[:, None] * loops * scale[None, :]


def dense(matrix, nodes: int = NODES) -> torch.Tensor:
    return matrix @ torch.eye(nodes)


# ---- weights


def test_the_propagation_is_the_dense_normalised_matrix():
    w = weights(0)
    torch.testing.assert_close(dense(WeightedEdges(EDGES, NODES, CPU).propagation(w)), normalised(written_out(w)))


def test_the_adjacency_has_the_weights_and_no_loops():
    w = weights(0)
    S = dense(WeightedEdges(EDGES, NODES, CPU).adjacency(w))
    assert torch.equal(S, written_out(w))
    assert not S.diagonal().any()


def test_each_entry_by_hand():
    w = torch.tensor([0.5, 0.25])
    S = dense(WeightedEdges(np.array([[0, 1], [1, 2]]), 3, CPU).propagation(w), 3)
    a, b, c = 1.5, 1.75, 1.25  # the degrees, with the loop
    expected = [
        [1 / a, 0.5 / math.sqrt(a * b), 0],
        [0.5 / math.sqrt(a * b), 1 / b, 0.25 / math.sqrt(b * c)],
        [0, 0.25 / math.sqrt(b * c), 1 / c],
    ]
    np.testing.assert_allclose(S.numpy(), expected, rtol=1e-6)


def test_weights_of_one_are_the_plain_graph(barbell):
    edges = WeightedEdges(barbell.edges, 20, CPU).propagation(torch.ones(barbell.num_edges))
    torch.testing.assert_close(dense(edges, 20), dense(propagation(barbell, "gcn", CPU), 20))


def test_an_edge_of_weight_zero_is_no_edge(barbell):
    w = torch.ones(barbell.num_edges)
    bridge = int(np.flatnonzero((barbell.edges == [9, 10]).all(axis=1))[0])
    w[bridge] = 0
    cut = Graph.from_edges(np.delete(barbell.edges, bridge, axis=0), barbell.features)
    S = dense(WeightedEdges(barbell.edges, 20, CPU).propagation(w), 20)
    torch.testing.assert_close(S, dense(propagation(cut, "gcn", CPU), 20))


def test_no_edges_at_all_are_the_loops():
    nothing = WeightedEdges(np.empty((0, 2), dtype=np.int64), 3, CPU)
    assert torch.equal(dense(nothing.propagation(torch.empty(0)), 3), torch.eye(3))
    assert not dense(nothing.adjacency(torch.empty(0)), 3).any()


@pytest.mark.parametrize("matrix", ["propagation", "adjacency"])
@pytest.mark.parametrize("hops", [1, 2])
def test_the_gradients_are_those_of_dense_autograd(matrix, hops):
    edges, cotangent = WeightedEdges(EDGES, NODES, CPU), numbers(2, NODES, 4)
    found, expected = [], []
    for gradients, sparse in ((found, True), (expected, False)):
        w, H = weights(0).requires_grad_(), numbers(1, NODES, 4).requires_grad_()
        if sparse:
            S = getattr(edges, matrix)(w)
        else:
            S = normalised(written_out(w)) if matrix == "propagation" else written_out(w)
        product = H
        for _ in range(hops):
            product = torch.tanh(S @ product)
        (product * cotangent).sum().backward()
        gradients += [product.detach(), w.grad, H.grad]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_the_gradient_with_respect_to_an_edge_is_a_difference_quotient():
    """A difference quotient: both entries of one weight are moved a little."""
    edges, H, cotangent = WeightedEdges(EDGES, NODES, CPU), numbers(1, NODES, 3), numbers(2, NODES, 3)

    def value(w):
        return ((edges.propagation(w) @ H) * cotangent).double().sum()

    w = weights(0).requires_grad_()
    (gradient,) = torch.autograd.grad(value(w), w)
    for edge in range(len(EDGES)):
        step = torch.zeros(len(EDGES))
        step[edge] = 1e-2
        quotient = (value(w.detach() + step) - value(w.detach() - step)) / 2e-2
        assert gradient[edge].item() == pytest.approx(quotient.item(), abs=2e-3)


# ---- a network that sees them


def gcn(graph: Graph) -> PlainGNN:
    return PlainGNN(graph.num_features, 4, graph.num_classes)


def by_hand(S: np.ndarray, graph: Graph, network: PlainGNN) -> np.ndarray:
    X = sp.csr_array(graph.features).toarray()
    W_1, W_2 = (layer.W.detach().numpy() for layer in (network.first, network.out))
    return S @ np.maximum(S @ X @ W_1, 0) @ W_2


@pytest.mark.parametrize("which", ["barbell", "ring", "isolated"])
def test_a_weighted_view_is_the_same_network_on_another_matrix(which, request):
    graph = request.getfixturevalue(which)
    network, w = gcn(graph), weights(3, graph.num_edges)
    S = np.eye(graph.num_nodes)
    for (a, b), weight in zip(graph.edges, w.numpy(), strict=True):
        S[a, b] = S[b, a] = weight
    scale = S.sum(axis=1) ** -0.5
    seen = WeightedView(graph, graph.edges, CPU).weighted(w)
    np.testing.assert_allclose(
        network(seen).detach().numpy(), by_hand(scale[:, None] * S * scale, graph, network), atol=1e-5
    )


def test_weighing_a_view_leaves_the_view_as_it_was(ring):
    view, network = WeightedView(ring, ring.edges, CPU), gcn(ring)
    before = network(view)
    view.weighted(torch.zeros(ring.num_edges))
    assert torch.equal(network(view), before)


def test_a_view_that_computed_its_product_cannot_take_another_matrix(barbell):
    with pytest.raises(AssertionError, match="S X was computed for one S"):
        View(propagation(barbell, "gcn", CPU), barbell, CPU).through(propagation(barbell, "gcn", CPU))


# ---- DropEdge


@pytest.mark.parametrize("which", ["barbell", "ring", "isolated"])
def test_nothing_dropped_is_the_plain_gcn(which, request):
    graph = request.getfixturevalue(which)
    model, network = DropEdge(edge_dropout=0.0, dropout=0.0), gcn(graph)
    logits, terms = model.learn(network, model.view(graph), torch.Generator())
    plain = network(View(propagation(graph, "gcn", CPU), graph, CPU))
    torch.testing.assert_close(logits, plain, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.answer(network, model.view(graph)), plain, atol=1e-5, rtol=1e-5)
    assert terms == {}


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_an_epoch_sees_the_edges_that_are_left_normalised_again(share, barbell):
    model, network = DropEdge(edge_dropout=share, dropout=0.0), gcn(barbell)
    view = model.view(barbell)
    for seed in range(3):
        logits, _ = model.learn(network, view, torch.Generator().manual_seed(seed))
        torch.manual_seed(seed)
        left = barbell.edges[(torch.rand(barbell.num_edges) >= share).numpy()]
        assert 0 < len(left) < barbell.num_edges
        A = np.eye(20)
        for a, b in left:  # both directions together
            A[a, b] = A[b, a] = 1
        scale = A.sum(axis=1) ** -0.5
        expected = by_hand(scale[:, None] * A * scale, barbell, network)
        np.testing.assert_allclose(logits.detach().numpy(), expected, atol=1e-5)


def test_every_epoch_drops_another_part_and_the_share_that_was_asked_for(barbell):
    model, network, shares = DropEdge(edge_dropout=0.3, dropout=0.0), gcn(barbell), []

    class Spy(WeightedView):
        def weighted(self, w):
            shares.append(w)
            return super().weighted(w)

    view = Spy(barbell, barbell.edges, CPU)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        model.learn(network, view, generator)
    drawn = torch.stack(shares)
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    assert drawn.mean().item() == pytest.approx(0.7, abs=0.02)
    assert len(drawn.unique(dim=0)) == 200


def test_the_whole_graph_answers(barbell):
    model, network = DropEdge(edge_dropout=0.9), gcn(barbell)
    view = model.view(barbell)
    assert torch.equal(model.answer(network, view), model.answer(network, view))
