"""GCN-SVD against the truncated decomposition of numpy, multiplied out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.defences.gcn_svd import GCNSVD
from gvdn.nn.low_rank import AttackedLowRankView, leading_part
from gvdn.nn.sparse import LowRank
from gvdn.nn.view import WeightedEdges

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
    return best_of_rank(graph.adjacency.toarray().astype(float), rank)


def best_of_rank(A: np.ndarray, rank: int) -> np.ndarray:
    U, values, Vt = np.linalg.svd(A)
    return (U[:, :rank] * values[:rank]) @ Vt[:rank]


def normalised(A_r: np.ndarray) -> np.ndarray:
    """D̃^-1/2 (A_r + I) D̃^-1/2 with degrees that are never below the loop's 1."""
    loops = A_r + np.eye(len(A_r))
    scale = np.array([max(1.0, row.sum()) ** -0.5 for row in loops])
    return scale[:, None] * loops * scale[None, :]


@pytest.mark.parametrize("rank", [*RANKS, 8, 12, 16, 40])
def test_the_leading_part_is_the_best_approximation_of_its_rank(rank):
    graph = no_ties()
    U, core = leading_part(graph.adjacency, rank)
    assert U.shape == (16, min(rank, 16))
    np.testing.assert_allclose((U * core) @ U.T, truncated(graph, rank), atol=1e-8)
    np.testing.assert_allclose(U.T @ U, np.eye(len(core)), atol=1e-8)


def test_eigenvalues_below_zero_are_as_large_as_they_are_far(star):
    """The star's are sqrt(6) and -sqrt(6): leaving out the negative one would leave half of the star."""
    _, core = leading_part(star.adjacency, 2)
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
    U, values = leading_part(graph.adjacency, nodes + 80)
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
    parts = [leading_part(graph.adjacency, 15) for _ in range(3)]
    U, core = parts[0]
    if kind != "pairs":  # forty singular values of 1: any fifteen directions will do
        np.testing.assert_allclose((U * core) @ U.T, graph.adjacency.toarray(), atol=1e-8)
    for other_U, other_core in parts[1:]:
        assert np.array_equal(U, other_U)
        assert np.array_equal(core, other_core)


def test_a_rank_below_one_is_refused():
    with pytest.raises(InvalidInput, match="expected rank of at least 1, got 0"):
        GCNSVD(rank=0)


# ---- the derivative with respect to the weights of links


def attacked(graph: Graph, rank: int) -> AttackedLowRankView:
    return AttackedLowRankView(graph, GCNSVD(rank=rank).view(graph).S, rank, torch.device("cpu"))


def all_pairs(nodes: int) -> np.ndarray:
    return np.stack(np.triu_indices(nodes, 1), axis=1)


def weights_over(graph: Graph, pairs: np.ndarray) -> np.ndarray:
    """The weights of an attacked graph over these pairs: links at 1, and some other pairs in part."""
    weights = graph.adjacency.toarray()[pairs[:, 0], pairs[:, 1]].astype(np.float64)
    weights[::7] = np.where(weights[::7] > 0, weights[::7], 0.3)
    return weights


def adjacency_of(weights: np.ndarray, pairs: np.ndarray, nodes: int = 16) -> np.ndarray:
    A = np.zeros((nodes, nodes))
    A[pairs[:, 0], pairs[:, 1]] = A[pairs[:, 1], pairs[:, 0]] = weights
    return A


def gradient_of(graph: Graph, rank: int, weights: np.ndarray, pairs: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Of the sum of the entries of G * S with respect to the weights."""
    edges = WeightedEdges(pairs, graph.num_nodes, torch.device("cpu"))
    given = torch.from_numpy(weights.astype(np.float32)).requires_grad_()
    S = attacked(graph, rank).over(edges, given).propagate(torch.eye(graph.num_nodes))
    (gradient,) = torch.autograd.grad((S * torch.from_numpy(G.astype(np.float32))).sum(), given)
    return gradient.numpy()


def daleckii_krein(A: np.ndarray, rank: int, pairs: np.ndarray, G: np.ndarray, *, exact: bool) -> np.ndarray:
    """The same from the dense formula, pair by pair; `exact` or with quotients of 1."""
    values, Q = np.linalg.eigh(A)
    order = np.argsort(-np.abs(values))
    values, Q = values[order], Q[:, order]
    A_r = (Q[:, :rank] * values[:rank]) @ Q[:, :rank].T
    factors = np.zeros_like(A)
    factors[:rank, :rank] = 1
    factors[:rank, rank:] = values[:rank, None] / (values[:rank, None] - values[rank:]) if exact else 1
    factors[rank:, :rank] = factors[:rank, rank:].T
    degrees = A_r.sum(axis=1) + 1
    scale, loops, found = np.maximum(degrees, 1) ** -0.5, A_r + np.eye(len(A)), []
    for i, j in pairs:
        dA = np.zeros_like(A)
        dA[i, j] = dA[j, i] = 1
        dA_r = Q @ (factors * (Q.T @ dA @ Q)) @ Q.T
        dscale = np.where(degrees > 1, -0.5 * scale**3 * dA_r.sum(axis=1), 0)
        dS = dscale[:, None] * loops * scale + scale[:, None] * dA_r * scale + scale[:, None] * loops * dscale
        found.append((G * dS).sum())
    return np.array(found)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("rank", [*RANKS, 16])
def test_over_other_weights_it_is_the_best_approximation_of_that_graph(rank):
    graph, pairs = no_ties(), all_pairs(16)
    view, edges = attacked(graph, rank), WeightedEdges(pairs, 16, torch.device("cpu"))
    for weights in (weights_over(graph, pairs), np.linspace(0, 1, len(pairs)), np.zeros(len(pairs))):
        S = view.over(edges, torch.from_numpy(weights.astype(np.float32))).propagate(torch.eye(16)).numpy()
        np.testing.assert_allclose(S, normalised(best_of_rank(adjacency_of(weights, pairs), rank)), atol=1e-5)
    fewer = WeightedEdges(graph.edges, 16, torch.device("cpu"))
    S = view.over(fewer, torch.ones(graph.num_edges)).propagate(torch.eye(16)).numpy()
    np.testing.assert_allclose(S, normalised(truncated(graph, rank)), atol=1e-5)


@pytest.mark.parametrize("rank", [*RANKS, 16])
def test_the_gradient_is_that_of_the_dense_formula_with_quotients_of_one(rank):
    graph, pairs = no_ties(), all_pairs(16)
    weights, G = weights_over(graph, pairs), np.random.default_rng(3).normal(size=(16, 16))
    expected = daleckii_krein(adjacency_of(weights, pairs), rank, pairs, G, exact=False)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(gradient_of(graph, rank, weights, pairs, G), expected, atol=1e-4)


def three_sides() -> np.ndarray:
    """1 for each pair of nodes of two of three sides of 3, 5 and 8 nodes, 0 for the others: a matrix of rank 3."""
    side, pairs = np.repeat([0, 1, 2], [3, 5, 8]), all_pairs(16)
    return (side[pairs[:, 0]] != side[pairs[:, 1]]).astype(float)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.1, 0.999, 1.0), (0.3, 0.99, 0.999), (1.0, 0.75, 0.95)])
def test_it_points_where_the_exact_one_points_if_the_dropped_eigenvalues_are_small(noise, low, high):
    """They are up to a fifteenth of the kept ones, up to a fifth, and up to all of them."""
    pairs, rng, cosines = all_pairs(16), np.random.default_rng(5), []
    for _ in range(20):
        weights, G = np.abs(three_sides() - noise * rng.random(len(pairs))), rng.normal(size=(16, 16))
        exact = daleckii_krein(adjacency_of(weights, pairs), 3, pairs, G, exact=True)
        cosines.append(cosine(gradient_of(no_ties(), 3, weights, pairs, G), exact))
    assert low < np.median(cosines) < high


def test_where_what_is_dropped_is_zero_it_is_the_difference_quotient():
    pairs, weights, G = all_pairs(16), three_sides(), np.random.default_rng(4).normal(size=(16, 16))
    assert np.linalg.matrix_rank(adjacency_of(weights, pairs)) == 3
    found = gradient_of(no_ties(), 3, weights, pairs, G)
    for pair in range(0, len(pairs), 5):
        above, below = weights.copy(), weights.copy()
        above[pair], below[pair] = weights[pair] + 1e-4, weights[pair] - 1e-4
        ends = [(G * normalised(best_of_rank(adjacency_of(one, pairs), 3))).sum() for one in (above, below)]
        assert found[pair] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-4)


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
