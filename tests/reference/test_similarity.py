"""How alike two nodes are, and who is nearest to whom, against loops over dense rows."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, nearest
from gvdn.graph.nearest import nearest_by_features
from gvdn.methods.defences import gcn_jaccard
from gvdn.methods.defences.gcn_jaccard import SIMILARITIES, GCNJaccard, drop_dissimilar_edges

LAYOUTS = {"dense": np.asarray, "sparse": sp.csr_array}
seeds = st.integers(0, 2**16)


def random_graph(seed: int, layout: str, kind: str = "signed", nodes: int = 12) -> Graph:
    """Random edges and features, two rows of zeros among them; made outside of the strategy."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((nodes, 6)) < 0.5, rng.normal(size=(nodes, 6)), 0).astype(np.float32)
    X = {"signed": X, "counts": np.abs(np.round(3 * X)), "binary": (X != 0).astype(np.float32)}[kind]
    X[[1, 4]] = 0
    edges = np.concatenate([rng.integers(0, nodes, (30, 2)), [[1, 4], [0, 1]]])
    return Graph.from_edges(edges, LAYOUTS[layout](X))


def rows(graph: Graph) -> np.ndarray:
    return sp.csr_array(graph.features).toarray().astype(float)


def jaccard_by_hand(x: np.ndarray, y: np.ndarray) -> float:
    mine, theirs = ({word for word, value in enumerate(row) if value != 0} for row in (x, y))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0


def cosine_by_hand(x: np.ndarray, y: np.ndarray) -> float:
    if not x.any() and not y.any():
        return 1.0
    lengths = math.sqrt(sum(v * v for v in x)) * math.sqrt(sum(v * v for v in y))
    return sum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


BY_HAND = {"jaccard": jaccard_by_hand, "cosine": cosine_by_hand}


# ---- existing edges


def test_there_are_two_ways_to_be_alike():
    assert list(SIMILARITIES) == list(BY_HAND)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["binary", "counts", "signed"])
@pytest.mark.parametrize("similarity", BY_HAND)
@given(seeds)
def test_the_similarity_of_an_edge_is_that_of_a_loop(similarity, kind, layout, seed):
    graph = random_graph(seed, layout, kind)
    X = rows(graph)
    expected = [BY_HAND[similarity](X[a], X[b]) for a, b in graph.edges]
    np.testing.assert_allclose(SIMILARITIES[similarity](graph.features, graph.edges), expected, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_words_are_present_or_absent_whatever_their_number(layout):
    X = np.array([[2, 0, 0.5, 0], [0.1, 7, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 3, 0]], dtype=np.float32)
    edges = np.array([[0, 1], [0, 2], [2, 3], [0, 4]])
    features = LAYOUTS[layout](X)
    assert SIMILARITIES["jaccard"](features, edges).tolist() == [1 / 3, 0, 1, 1]
    cosines = SIMILARITIES["cosine"](features, edges)
    assert cosines.tolist() == pytest.approx([0.2 / math.sqrt(4.25 * 49.01), 0, 1, -0.5 / math.sqrt(4.25 * 10)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("similarity", BY_HAND)
def test_edges_compared_in_pieces_are_edges_compared_at_once(similarity, layout, monkeypatch):
    graph = random_graph(0, layout)
    whole = SIMILARITIES[similarity](graph.features, graph.edges)
    monkeypatch.setattr(gcn_jaccard, "PIECE", 4)
    assert len(graph.edges) > 8
    np.testing.assert_allclose(SIMILARITIES[similarity](graph.features, graph.edges), whole, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("similarity", BY_HAND)
@given(seeds, st.sampled_from([0.01, 0.2, 1 / 3, 0.5]))
def test_exactly_the_edges_below_the_threshold_are_dropped(similarity, layout, seed, threshold):
    graph = random_graph(seed, layout, "binary")
    threshold += 0.003 * (similarity == "cosine")  # a cosine at the threshold is a matter of rounding
    X, before = rows(graph), graph.hash
    expected = [[a, b] for a, b in graph.edges.tolist() if BY_HAND[similarity](X[a], X[b]) >= threshold]
    cleaned = drop_dissimilar_edges(graph, threshold, similarity)
    assert cleaned.edges.tolist() == expected
    assert dataclasses.replace(cleaned, adjacency=graph.adjacency).hash == before, "nothing else is touched"


def test_an_edge_at_the_threshold_stays():
    X = np.array([[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 0]], dtype=np.float32)  # one shared word of four, of three
    graph = Graph.from_edges(np.array([[0, 1], [1, 2], [0, 2]]), X)
    assert drop_dissimilar_edges(graph, 0.25).edges.tolist() == [[0, 1], [1, 2]]
    assert drop_dissimilar_edges(graph, 0.26).edges.tolist() == [[1, 2]]


def test_a_graph_without_edges_has_none_to_drop(isolated):
    alone = isolated.subgraph(np.array([4, 5, 6]))
    for similarity in SIMILARITIES:
        assert drop_dissimilar_edges(alone, 0.5, similarity).num_edges == 0


def test_a_graph_is_cleaned_whenever_it_is_met(ring):
    model = GCNJaccard(hidden=4, threshold=0.4, device="cpu")
    cleaned = drop_dissimilar_edges(ring, 0.4)
    assert 0 < cleaned.num_edges < ring.num_edges
    seen, expected = model.view(ring), cleaned.adjacency.toarray() + np.eye(60)
    scale = expected.sum(axis=1) ** -0.5
    S = seen.propagate(torch.eye(60)).numpy()
    np.testing.assert_allclose(S, scale[:, None] * expected * scale, atol=1e-6)


def test_an_unknown_similarity_lists_the_known_ones():
    with pytest.raises(InvalidInput, match="unknown similarity 'jacard'; did you mean 'jaccard'.* jaccard, cosine"):
        GCNJaccard(similarity="jacard")


# ---- nearest nodes


def nearest_by_hand(graph: Graph, number: int) -> dict[int, list[float]]:
    """The positive cosines of each node's nearest, falling; the nodes themselves are not unique where cosines tie."""
    X = rows(graph)
    found = {}
    for node in range(graph.num_nodes):
        cosines = [cosine_by_hand(X[node], X[o]) for o in range(graph.num_nodes) if o != node and X[o].any()]
        found[node] = sorted((c for c in cosines if X[node].any() and c > 1e-7), reverse=True)[:number]
    return found


def has_every_nearest_node(graph: Graph, pairs: np.ndarray, number: int) -> None:
    """Each node has its `number` best cosines among its pairs, and each pair is among the best of one of its ends."""
    X, wanted = rows(graph), nearest_by_hand(graph, number)
    near = {node: [] for node in range(graph.num_nodes)}
    for a, b in pairs:
        cosine = cosine_by_hand(X[a], X[b])
        near[a].append(cosine)
        near[b].append(cosine)
        assert any(wanted[end] and cosine >= wanted[end][-1] - 1e-6 for end in (a, b))
    for node, best in wanted.items():
        mine = sorted(near[node], reverse=True)[: len(best)]
        np.testing.assert_allclose(mine, best, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["binary", "signed"])
@given(seeds, st.integers(1, 14))
def test_the_nearest_nodes_are_those_of_a_loop(kind, layout, seed, number):
    graph = random_graph(seed, layout, kind)
    pairs = nearest_by_features(graph, number)
    has_every_nearest_node(graph, pairs, number)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert not np.isin([1, 4], pairs).any(), "a node without features has no neighbours"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_taken_in_blocks_are_rows_taken_at_once(layout, monkeypatch):
    graph = random_graph(3, layout)
    whole = nearest_by_features(graph, 3)
    monkeypatch.setattr(nearest, "BLOCK_BYTES", 4 * graph.num_nodes * 5)  # blocks of five rows, five and two
    assert nearest_by_features(graph, 3).tolist() == whole.tolist()


def test_features_of_few_words_stay_sparse_and_give_the_same():
    rng = np.random.default_rng(0)
    words = sp.random_array((40, 400), density=0.02, rng=rng, format="csr", dtype=np.float32)
    graph = Graph.from_edges(np.array([[0, 1]]), words)
    assert sp.issparse(nearest.unit_rows(graph))
    pairs = nearest_by_features(graph, 4)
    has_every_nearest_node(graph, pairs, 4)
    dense = nearest_by_features(dataclasses.replace(graph, features=words.toarray()), 4)
    has_every_nearest_node(graph, dense, 4)


def test_no_neighbour_is_asked_for_and_none_is_found(ring, single):
    for graph, number in ((ring, 0), (single, 5)):
        pairs = nearest_by_features(graph, number)
        assert pairs.shape == (0, 2)
        assert pairs.dtype == np.int64


def test_three_on_a_line_and_one_across():
    X = np.array([[1, 0], [1, 0.1], [1, 0.3], [0, 1], [-1, 0]], dtype=np.float32)
    graph = Graph.from_edges(np.array([[0, 4]]), X)
    assert nearest_by_features(graph, 1).tolist() == [[0, 1], [1, 2], [2, 3]]  # node 4 is like node 3 at best: cosine 0
