import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.edges import clean_edges
from gvdn.graph.graph import unused_ids

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
    found = clean_edges(edges, 3)
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert found.weights is None
    assert found.dropped == (1, 2, 1)
    assert Graph.from_edges(edges, np.zeros((3, 1))).dropped == (1, 2, 1)


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
        ({"adjacency": sp.csr_array((np.zeros(2), ([0, 1], [1, 0])))}, "got 0 between nodes 0 and 1; eliminate_zeros"),
        ({"features": np.zeros((3, 1))}, r"each of the 2 nodes, got shape \(3, 1\)"),
        ({"features": np.zeros(2)}, r"expected features as a matrix .* got shape \(2,\)"),
        ({"features": np.zeros((2, 1), dtype=complex)}, "expected features as real numbers, got complex128; convert"),
        ({"features": sp.csr_array((2, 1), dtype=np.complex64)}, "expected features as real numbers, got complex64"),
        ({"features": [[1.0], [1.0, 2.0]]}, "rows of one length, got 2 values in row 1 after rows of 1; fill"),
        ({"features": np.array([[1.0], ["a"]], dtype=object)}, "expected features as real numbers, got object"),
        ({"features": [["a"], ["b"]]}, "expected features as real numbers, got <U1"),
        ({"features": np.array([[0.0], [np.nan]])}, "NaN or infinity on node 1"),
        ({"features": sp.csr_array(np.array([[0.0], [np.inf]]))}, "NaN or infinity on node 1"),
        ({"labels": np.array([0, -2])}, "got -2 on node 1"),
        ({"labels": np.array([0.5, 1])}, "expected 2 whole numbers as labels"),
        ({"labels": np.array([0.0, 1.0])}, "expected 2 whole numbers as labels, got float64 .* give integers"),
        ({"labels": np.array([0, 2**64 - 1], dtype=np.uint64)}, r"labels below 2\*\*63, got 18446744073709551615"),
        (
            {"ids": np.array([0, 2**64 - 1], dtype=np.uint64)},
            r"ids below 2\*\*63, got 18446744073709551615; .* as text",
        ),
        ({"ids": np.array(["a", 1.5], dtype=object)}, "expected ids as whole numbers or text, got 1.5 on node 1"),
        ({"ids": np.array(["a", None], dtype=object)}, "expected ids as whole numbers or text, got None on node 1"),
        ({"ids": np.array([True, False])}, "expected 2 ids, whole numbers or text, got bool"),
        ({"ids": np.array(["a", "a"])}, "got 'a' on nodes 0 and 1"),
        ({"labels": np.array([0, 1]), "class_names": ("x",)}, "each of the 2 classes, got 1 names"),
        ({"class_names": ("x", "x")}, "expected class names to differ"),
        ({"feature_names": ("x", "y")}, "each of the 1 features or none at all, got 2 names"),
    ],
)
def test_a_bad_part_is_named(change, sentence):
    good = {"adjacency": sp.csr_array((2, 2)), "features": TWO}
    with pytest.raises(InvalidInput, match=sentence):
        Graph(**(good | change))


def test_an_edge_beyond_the_nodes_is_named_in_the_error():
    with pytest.raises(InvalidInput, match=r"edge 1 joins positions \(0, 7\), but there are 2 nodes"):
        Graph.from_edges(np.array([[0, 1], [0, 7]]), TWO)


@pytest.mark.parametrize(
    ("edges", "sentence"),
    [
        (
            np.array([[0, 0, 1], [1, 1, 0]]),
            r"two columns\), got int64 of shape \(2, 3\); transpose a matrix of two rows",
        ),
        (np.array([[0.0, 1.2]]), r"pairs of positions \(integers, two columns\), got float64"),
        (np.array([[0, -1]]), r"edge 0 joins positions \(0, -1\)"),
        (np.array([[0, 2**63]], dtype=np.uint64), r"edges below 2\*\*63, got 9223372036854775808"),
    ],
)
def test_edges_that_are_no_pairs_of_positions_are_refused(edges, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Graph.from_edges(edges, TWO)


def test_lists_are_taken_for_arrays():
    graph = Graph.from_edges([[0, 1], [1, 2]], [[1.0], [0.5], [0.0]], labels=[0, 0, 1], ids=["a", "b", "c"])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert Graph.from_edges([], [[1.0], [2.0]]).num_edges == 0


def test_ids_find_their_nodes_after_a_reordering(ring):
    shuffled = ring.subgraph(np.random.default_rng(0).permutation(60))
    wanted = np.array(["n59", "n00", "nobody", "n17"])
    found = shuffled.locate(wanted)
    assert found[2] == -1
    assert shuffled.ids[found[[0, 1, 3]]].tolist() == ["n59", "n00", "n17"]


def test_ids_of_another_kind_are_not_found(ring, star):
    assert ring.locate(np.array([0, 1])).tolist() == [-1, -1]
    assert star.locate(np.array([3, 99])).tolist() == [3, -1]


def test_a_subgraph_keeps_ids_labels_and_inner_edges(barbell):
    part = barbell.subgraph(np.array([10, 9, 0]))
    assert part.ids.tolist() == [10, 9, 0]
    assert part.edges.tolist() == [[0, 1], [1, 2]]
    assert part.labels.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("positions", "sentence"),
    [
        (np.arange(20) < 5, "expected nodes of the subgraph as positions of nodes, got a boolean mask"),
        ([0.0, 1.0], "expected nodes of the subgraph as a list of positions"),
        ([-1], "from 0 up, got -1"),
        ([20], "expected positions among the 20 nodes, got 20"),
        ([1, 1], "expected unique ids, got '1'"),
    ],
)
def test_a_subgraph_is_made_of_positions(barbell, positions, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        barbell.subgraph(positions)


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


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([5, -3], [6, 7, 8]),
        ([0, 2**63 - 3], [-3, -2, -1]),
        (["b", "new-2", "new-x"], ["new-1", "new-3", "new-4"]),
    ],
)
def test_unused_ids_are_of_the_same_kind_and_not_taken(ids, expected):
    assert unused_ids(np.array(ids), 3, "new").tolist() == expected


def test_ids_that_leave_no_number_above_or_below_are_refused():
    with pytest.raises(InvalidInput, match="expected ids up to 9223372036854775804, got 9223372036854775807"):
        unused_ids(np.array([2**63 - 1, -(2**63)]), 3, "new")
