import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.metrics import entropy
from gvdn.trust import neighbours
from gvdn.trust.neighbours import common_neighbours
from gvdn.trust.rows import directions, log_normalised, projected


@pytest.mark.parametrize("piece", [1, 50, 1 << 21])
def test_common_neighbours_are_those_of_the_squared_adjacency(monkeypatch, piece):
    monkeypatch.setattr(neighbours, "PIECE", piece)
    rng = np.random.default_rng(4)
    upper = np.triu(rng.random((40, 40)) < 0.15, 1)
    upper[:, 39] = False
    A = (upper | upper.T).astype(np.float32)
    graph = Graph(sp.csr_array(A), np.ones((40, 1), np.float32))
    squared = A @ np.diag(1 / np.log(2 + A.sum(axis=1))) @ A
    pairs = np.array([(u, v) for u in range(40) for v in range(40) if u != v])
    assert np.allclose(common_neighbours(graph, pairs), squared[pairs[:, 0], pairs[:, 1]], atol=1e-5)
    assert common_neighbours(graph, np.zeros((0, 2), np.int64)).shape == (0,)


def test_directions_span_the_rows_where_these_have_a_low_rank():
    rng = np.random.default_rng(5)
    rows = (rng.normal(size=(80, 4)) @ rng.normal(size=(4, 200))).astype(np.float32)
    for features in (rows, sp.csr_array(rows)):
        basis = directions(features, np.random.default_rng(0))
        assert np.allclose(np.linalg.norm(projected(features, basis), axis=1), 1, atol=1e-4)
    few = directions(rows[:, :3], np.random.default_rng(0))
    assert few.shape == (3, basis.shape[1])


def test_entropy_and_log_normalised_are_those_of_the_textbook():
    assert entropy(np.array([[0.5, 0.5], [1.0, 0.0]])) == pytest.approx([np.log(2), 0])
    logs = np.array([[1000.0, 1000.0], [-3.0, 2.0]])
    assert np.allclose(np.exp(log_normalised(logs)).sum(axis=1), 1)
    assert log_normalised(logs)[0] == pytest.approx(np.log([0.5, 0.5]))
