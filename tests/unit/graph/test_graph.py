import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.graph import clean_edges

TWO = np.zeros((2, 1), dtype=np.float32)


def test_a_graph_cannot_be_written_into(barbell):
    with pytest.raises(ValueError, match="read-only"):
        barbell.features[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        barbell.adjacency.data[0] = 9
    with pytest.raises(dataclasses.FrozenInstanceError):
        barbell.name = "other"


def test_the_callers_arrays_stay_the_callers():
    features = np.ones((2, 1), dtype=np.float32)
    graph = Graph.from_edges(np.array([[0, 1]]), features)
    features[0] = 5
    assert graph.features[0, 0] == 1


def test_loops_duplicates_and_directions_are_dropped_and_counted():
    edges = np.array([[0, 1], [1, 0], [0, 1], [2, 2], [1, 2]])
    pairs, dropped = clean_edges(edges, 3)
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert dropped == (1, 2)
    assert Graph.from_edges(edges, np.zeros((3, 1))).dropped == (1, 2)


def test_edges_and_degrees_of_a_star(star):
    assert star.edges.tolist() == [[0, leaf] for leaf in range(1, 7)]
    assert star.degrees.tolist() == [6, 1, 1, 1, 1, 1, 1]
    assert star.num_edges == 6


def test_a_one_way_edge_is_named_in_the_error():
    one_way = sp.csr_array(np.array([[0, 1], [0, 0]]))
    with pytest.raises(InvalidInput, match=r"between 0 and 1 in one direction only"):
        Graph(one_way, TWO)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"adjacency": np.zeros((2, 2))}, "expected a sparse adjacency matrix, got ndarray"),
        ({"adjacency": sp.csr_array((2, 3))}, "expected a square adjacency matrix"),
        ({"adjacency": sp.csr_array(np.eye(2))}, "got one on node 0"),
        ({"features": np.zeros((3, 1))}, r"each of the 2 nodes, got shape \(3, 1\)"),
        ({"features": np.array([[0.0], [np.nan]])}, "NaN or infinity on node 1"),
        ({"features": sp.csr_array(np.array([[0.0], [np.inf]]))}, "NaN or infinity on node 1"),
        ({"labels": np.array([0, -2])}, "got -2 on node 1"),
        ({"labels": np.array([0.5, 1])}, "expected 2 whole numbers as labels"),
        ({"ids": np.array(["a", "a"])}, "got 'a' on nodes 0 and 1"),
        ({"labels": np.array([0, 1]), "class_names": ("x",)}, "each of the 2 classes, got 1 names"),
        ({"class_names": ("x", "x")}, "expected class names to differ"),
        ({"feature_names": ("x", "y")}, "each of the 1 features or none at all, got 2 names"),
    ],
)
def test_a_bad_part_is_named_at_the_door(change, sentence):
    good = {"adjacency": sp.csr_array((2, 2)), "features": TWO}
    with pytest.raises(InvalidInput, match=sentence):
        Graph(**(good | change))


def test_an_edge_beyond_the_nodes_is_named_in_the_error():
    with pytest.raises(InvalidInput, match=r"edge 1 joins positions \(0, 7\), but there are 2 nodes"):
        Graph.from_edges(np.array([[0, 1], [0, 7]]), TWO)


def test_ids_find_their_nodes_after_a_reordering(ring):
    shuffled = ring.subgraph(np.random.default_rng(0).permutation(60))
    wanted = np.array(["n59", "n00", "nobody", "n17"])
    places = shuffled.locate(wanted)
    assert places[2] == -1
    assert shuffled.ids[places[[0, 1, 3]]].tolist() == ["n59", "n00", "n17"]


def test_ids_of_another_kind_are_not_found(ring, star):
    assert ring.locate(np.array([0, 1])).tolist() == [-1, -1]
    assert star.locate(np.array([3, 99])).tolist() == [3, -1]


def test_a_subgraph_keeps_ids_labels_and_inner_edges(barbell):
    part = barbell.subgraph(np.array([10, 9, 0]))
    assert part.ids.tolist() == [10, 9, 0]
    assert part.edges.tolist() == [[0, 1], [1, 2]]
    assert part.labels.tolist() == [1, 0, 0]


def test_the_hash_sees_every_part_but_not_the_name(ring):
    changed = [
        {"labels": np.where(np.arange(60) == 3, 0, ring.labels) + 0},
        {"labels": (ring.labels + 1) % 3},
        {"features": ring.features * 2},
        {"ids": np.arange(60)},
        {"adjacency": sp.csr_array((60, 60))},
        {"class_names": ("c", "b", "a")},
    ]
    hashes = {dataclasses.replace(ring, **change).hash for change in changed[1:]}
    assert len(hashes | {ring.hash}) == len(changed)
    assert dataclasses.replace(ring, name="other").hash == ring.hash


def test_dense_and_sparse_features_with_the_same_values_hash_alike(ring):
    assert dataclasses.replace(ring, features=ring.features.toarray()).hash == ring.hash


def test_a_single_node_is_a_graph(single):
    assert (single.num_nodes, single.num_edges, single.edges.shape) == (1, 0, (0, 2))
