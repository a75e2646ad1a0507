"""GCN-SVD against the truncated decomposition of numpy, multiplied out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.defences.gcn_svd import GCNSVD, leading_part
from gvdn.nn.sparse import LowRank

RANKS = [1, 2, 5, 7]  # 2 * 7 < 16 nodes: all of them by the sparse solver; the dense one begins at 8


def no_ties(nodes: int = 16, seed: int = 0, *, sparse: bool = False) -> Graph:
    """A random graph whose singular values differ, so that every rank gives one approximation."""
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((nodes, nodes)) < 0.35, 1)
    X = rng.random((nodes, 3)).astype(np.float32) * (rng.random((nodes, 3)) < 0.7)
    graph = Graph.from_edges(np.argwhere(dense), sp.csr_array(X) if sparse else X)
    values = np.linalg.svd(graph.adjacency.toarray(), compute_uv=False)
    assert np.diff(values).max() < -1e-3
    return graph


def truncated(graph: Graph, rank: int) -> np.ndarray:
    """A_r as a dense matrix."""
    U, values, Vt = np.linalg.svd(graph.adjacency.toarray().astype(float))
    return (U[:, :rank] * values[:rank]) @ Vt[:rank]


def normalised(A_r: np.ndarray) -> np.ndarray:
    """D̃^-1/2 (A_r + I) D̃^-1/2 with degrees that are never below the loop's 1."""
    loops = A_r + np.eye(len(A_r))
    scale = np.array([max(1.0, row.sum()) ** -0.5 for row in loops])
    return scale[:, None] * loops * scale[None, :]


@pytest.mark.parametrize("rank", [*RANKS, 8, 12, 16, 40])
def test_the_leading_part_is_the_best_approximation_of_its_rank(rank):
    graph = no_ties()
    U, core = leading_part(graph, rank)
    assert U.shape == (16, min(rank, 16))
    np.testing.assert_allclose((U * core) @ U.T, truncated(graph, rank), atol=1e-8)
    np.testing.assert_allclose(U.T @ U, np.eye(len(core)), atol=1e-8)


def test_eigenvalues_below_zero_are_as_large_as_they_are_far(star):
    """The star's are sqrt(6) and -sqrt(6): leaving out the negative one would leave half of the star."""
    _, core = leading_part(star, 2)
    assert sorted(core) == pytest.approx([-(6**0.5), 6**0.5])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rank", RANKS)
def test_what_the_network_sees_is_the_dense_matrix_times_its_features(rank, sparse):
    graph = no_ties(sparse=sparse)
    view, S = GCNSVD(rank=rank).view(graph), normalised(truncated(graph, rank))
    np.testing.assert_allclose(view.propagate(torch.eye(16)).numpy(), S, atol=1e-5)
    W = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    X = sp.csr_array(graph.features).toarray()
    np.testing.assert_allclose(view.aggregate(torch.from_numpy(W)).numpy(), S @ X @ W, atol=1e-5)


def test_a_degree_that_falls_below_the_loops_share_is_one():
    pairs = np.triu(np.random.default_rng(274).random((16, 16)) < 0.15, 1)
    graph = Graph.from_edges(np.argwhere(pairs), np.ones((16, 1), dtype=np.float32))
    A_r = truncated(graph, 5)
    low = int(A_r.sum(axis=1).argmin())
    assert A_r[low].sum() < -0.1, "a row of A_r with a negative sum, so a degree below 1"
    S = GCNSVD(rank=5).view(graph).propagate(torch.eye(16)).numpy()
    assert S[low, low] == pytest.approx(A_r[low, low] + 1, abs=1e-5)
    np.testing.assert_allclose(S, normalised(A_r), atol=1e-5)


def test_full_rank_is_the_plain_normalised_adjacency(barbell):
    A = barbell.adjacency.toarray() + np.eye(20)
    scale = A.sum(axis=1) ** -0.5
    S = GCNSVD(rank=20).view(barbell).propagate(torch.eye(20)).numpy()
    np.testing.assert_allclose(S, scale[:, None] * A * scale, atol=1e-5)


def test_a_rank_of_all_nodes_of_a_larger_graph_gives_the_whole_adjacency():
    nodes = 520
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes], axis=1)
    graph = Graph.from_edges(ring, np.ones((nodes, 1), dtype=np.float32), name="long ring")
    U, values = leading_part(graph, nodes + 80)
    np.testing.assert_allclose((U * values) @ U.T, graph.adjacency.toarray(), atol=1e-8)


def test_a_graph_without_edges_is_its_loops(isolated):
    alone = isolated.subgraph(np.array([4, 5, 6]))
    np.testing.assert_allclose(GCNSVD().view(alone).propagate(torch.eye(3)).numpy(), np.eye(3))


EDGES = {
    "one edge": [[0, 1]],
    "a star": [[0, leaf] for leaf in range(1, 40)],
    "two sides": [[a, b] for a in range(20) for b in range(20, 40)],
    "pairs": [[a, a + 1] for a in range(0, 40, 2)],
}


@pytest.mark.parametrize("kind", EDGES)
def test_a_matrix_of_lower_rank_than_asked_for_has_one_leading_part(kind):
    """The solver runs out of directions and draws new ones: from a generator of its own."""
    graph = Graph.from_edges(np.array(EDGES[kind]), np.ones((40, 1), dtype=np.float32))
    parts = [leading_part(graph, 15) for _ in range(3)]
    U, core = parts[0]
    if kind != "pairs":  # forty singular values of 1: any fifteen directions will do
        np.testing.assert_allclose((U * core) @ U.T, graph.adjacency.toarray(), atol=1e-8)
    for other_U, other_core in parts[1:]:
        assert np.array_equal(U, other_U)
        assert np.array_equal(core, other_core)


def test_a_rank_below_one_is_refused():
    with pytest.raises(InvalidInput, match="expected rank of at least 1, got 0"):
        GCNSVD(rank=0)


# ---- the factored matrix itself


def factors(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    shapes = ((7, 3), (3,), (7,))
    return tuple(torch.from_numpy(rng.normal(size=shape).astype(np.float32)) for shape in shapes)


def test_a_product_with_the_factors_is_a_product_with_the_matrix():
    U, core, scale = factors()
    S = torch.diag(scale) @ (U @ torch.diag(core) @ U.T + torch.eye(7)) @ torch.diag(scale)
    H, weights = (torch.from_numpy(np.random.default_rng(s).normal(size=(7, 4)).astype(np.float32)) for s in (1, 2))
    H.requires_grad_()
    product = LowRank(U, core, scale) @ H
    torch.testing.assert_close(product, S @ H, atol=1e-5, rtol=1e-5)
    (gradient,) = torch.autograd.grad((product * weights).sum(), H)
    torch.testing.assert_close(gradient, S.T @ weights, atol=1e-5, rtol=1e-5)


def test_a_product_costs_the_factors_and_not_the_square():
    assert LowRank(*factors()).nnz == 2 * 7 * 3 + 7
