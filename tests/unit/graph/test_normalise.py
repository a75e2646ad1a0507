import numpy as np
import scipy.sparse as sp

from gvdn.graph import normalised_adjacency, row_normalised


def dense_A_hat(graph):
    A = graph.adjacency.toarray() + np.eye(graph.num_nodes)
    D = np.diag(A.sum(axis=1) ** -0.5)
    return D @ A @ D


def test_A_hat_is_the_dense_formula(star, barbell, ring):
    for graph in (star, barbell, ring):
        np.testing.assert_allclose(normalised_adjacency(graph).toarray(), dense_A_hat(graph), rtol=1e-6)


def test_an_isolated_node_keeps_its_loop(isolated, single):
    assert np.isfinite(normalised_adjacency(isolated).data).all()
    assert normalised_adjacency(isolated).toarray()[5, 5] == 1
    assert normalised_adjacency(single).toarray().tolist() == [[1]]


def test_rows_sum_to_one_and_a_zero_row_stays_zero():
    rows = np.array([[1, 3], [0, 0]], dtype=np.float32)
    assert row_normalised(rows).tolist() == [[0.25, 0.75], [0, 0]]
    assert row_normalised(sp.csr_array(rows)).toarray().tolist() == [[0.25, 0.75], [0, 0]]
