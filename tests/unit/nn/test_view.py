"""What a network sees: X or S X, and the same features through another matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph
from gvdn.nn.dropout import Dropout
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, propagation

CPU = torch.device("cpu")


@pytest.fixture
def wide() -> Graph:
    """Twelve nodes with two of two hundred words each: a sparse X is cheaper."""
    rng = np.random.default_rng(0)
    X = np.zeros((12, 200), dtype=np.float32)
    for row in X:
        row[rng.choice(200, 2, replace=False)] = rng.random(2) + 0.5
    return Graph.from_edges(np.array([[node, node + 1] for node in range(11)]), sp.csr_array(X))


def view_on(graph: Graph, **rest) -> View:
    return View(propagation(graph, "gcn", CPU), graph, CPU, **rest)


def dense_S(graph: Graph) -> np.ndarray:
    A = graph.adjacency.toarray() + np.eye(graph.num_nodes)
    scale = A.sum(axis=1) ** -0.5
    return scale[:, None] * A * scale


def numbers(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("which", ["wide", "barbell", "ring"])
@pytest.mark.parametrize("changing", [False, True])
def test_all_layouts_multiply_alike(which, changing, request):
    graph = request.getfixturevalue(which)
    X, W = sp.csr_array(graph.features).toarray(), numbers(graph.num_features, 3)
    view = view_on(graph, changing=changing)
    np.testing.assert_allclose(view.aggregate(W).numpy(), dense_S(graph) @ X @ W.numpy(), atol=1e-5)
    H = numbers(graph.num_nodes, 4)
    np.testing.assert_allclose(view.propagate(H).numpy(), dense_S(graph) @ H.numpy(), atol=1e-5)


def test_a_matrix_that_changes_is_not_multiplied_in_beforehand(wide, barbell):
    assert view_on(barbell).SX is not None
    assert view_on(barbell).X is None
    view = view_on(barbell, changing=True)
    assert view.SX is None
    assert torch.equal(view.X, torch.from_numpy(barbell.features.copy()))
    assert isinstance(view_on(wide, changing=True).X, SparseMatrix)


@pytest.mark.parametrize("which", ["wide", "barbell"])
def test_features_alone_are_multiplied_without_the_graph(which, request):
    graph = request.getfixturevalue(which)
    W = numbers(graph.num_features, 3)
    X = sp.csr_array(graph.features).toarray()
    np.testing.assert_allclose(view_on(graph, changing=True).project(W).numpy(), X @ W.numpy(), atol=1e-5)


def test_features_that_were_multiplied_in_cannot_be_had_alone(barbell):
    with pytest.raises(AssertionError, match="this view has S X and not X"):
        view_on(barbell).project(numbers(4, 2))


@pytest.mark.parametrize("which", ["wide", "barbell"])
def test_dropout_falls_on_the_features_and_keeps_their_mean(which, request):
    graph = request.getfixturevalue(which)
    view, X = view_on(graph, changing=True), sp.csr_array(graph.features).toarray()
    dropout = Dropout(0.5, torch.Generator().manual_seed(0))
    dropped = view.project(torch.eye(graph.num_features), dropout).numpy()
    ratios = dropped[X != 0] / X[X != 0]
    assert set(np.round(ratios, 4)) == {0.0, 2.0}
    assert not dropped[X == 0].any()


def test_the_same_features_go_through_another_matrix(barbell, isolated):
    view = view_on(barbell, changing=True)
    cut = Graph.from_edges(barbell.edges[::2], barbell.features)
    other, W = view.through(propagation(cut, "gcn", CPU)), numbers(4, 3)
    np.testing.assert_allclose(other.aggregate(W).numpy(), dense_S(cut) @ barbell.features @ W.numpy(), atol=1e-5)
    np.testing.assert_allclose(view.aggregate(W).numpy(), dense_S(barbell) @ barbell.features @ W.numpy(), atol=1e-5)


def test_the_graphs_features_are_not_the_views_to_change(barbell):
    view_on(barbell, changing=True).X.fill_(7.0)
    assert barbell.features.max() < 7
