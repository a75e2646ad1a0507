"""Features of the links alone."""

import dataclasses

import numpy as np
import pytest

import gvdn
from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph, has_structural_features, with_structural_features
from gvdn.graph.tables.structure import clustering, id_codes, surroundings


def bare(graph: Graph) -> Graph:
    return dataclasses.replace(graph, features=np.zeros((graph.num_nodes, 0)), feature_names=(), columns=None)


def test_structural_features_are_degree_clustering_and_a_code(barbell):
    networkx = pytest.importorskip("networkx")
    graph = with_structural_features(bare(barbell))
    assert graph.num_features == 130
    assert has_structural_features(graph)
    assert not has_structural_features(barbell)
    degree = np.log1p(barbell.degrees)
    np.testing.assert_allclose(graph.features[:, 0], (degree - degree.mean()) / degree.std(), rtol=1e-5)
    np.testing.assert_allclose(graph.features[:, 1], list(networkx.clustering(barbell.to_networkx()).values()))
    np.testing.assert_allclose(np.linalg.norm(graph.features[:, 2:], axis=1), 1, rtol=1e-5)


def test_a_code_is_the_mean_over_the_ends_of_random_walks(ring):
    A = ring.adjacency.toarray() != 0
    P = (A + np.eye(len(A))) / (A.sum(axis=1, keepdims=True) + 1)
    degree = A.sum(axis=1) + 1
    R = id_codes(ring.ids, 16)
    H = np.linalg.matrix_power(P, 3) @ (R - (degree[:, None] * R).sum(axis=0) / degree.sum())
    np.testing.assert_allclose(surroundings(ring, 16, 3), H / np.linalg.norm(H, axis=1, keepdims=True), atol=1e-10)


def test_the_codes_of_ids_are_signs_that_differ_and_stay():
    codes = id_codes(np.array(["a", "b", "\ud800"]), 128)
    assert set(np.unique(codes)) == {-1.0, 1.0}
    assert (codes[0] != codes[1]).mean() > 0.3
    np.testing.assert_array_equal(id_codes(np.array(["b"]), 128), codes[1:2])
    np.testing.assert_array_equal(id_codes(np.array([7]), 12), id_codes(np.array(["7"]), 12))
    assert id_codes(np.array([7]), 12).tolist() == [[1, 1, 1, -1, -1, -1, 1, -1, 1, -1, 1, 1]]


def test_features_of_links_do_not_depend_on_the_order_of_the_nodes(barbell):
    first = with_structural_features(bare(barbell))
    order = np.random.default_rng(0).permutation(20)
    later = with_structural_features(bare(barbell).subgraph(order), first.columns)
    np.testing.assert_allclose(later.features, first.features[order], atol=1e-5)


def test_what_is_far_from_a_change_keeps_its_features(ring):
    first = with_structural_features(bare(ring))
    nodes, edges = ring.num_nodes + 1, np.concatenate([ring.edges, [[0, ring.num_nodes]]])
    grown = Graph.from_edges(edges, np.zeros((nodes, 0)), ids=[*ring.ids.tolist(), "new"])
    later = with_structural_features(grown, first.columns)
    moved = np.linalg.norm(later.features[:-1] - first.features, axis=1)
    assert moved[0] > 0.3
    assert moved[20:40].max() < 0.1
    assert np.isfinite(later.features[-1]).all()


def test_clustering_in_blocks_is_the_same(ring, monkeypatch):
    whole = clustering(ring)
    monkeypatch.setattr("gvdn.graph.tables.structure.BLOCK", 50)
    np.testing.assert_array_equal(clustering(ring), whole)


def test_graphs_without_links_have_the_codes_of_their_ids():
    alone = Graph.from_edges([], np.zeros((3, 0)))
    np.testing.assert_allclose(surroundings(alone), id_codes(alone.ids, 128) / np.sqrt(128))
    assert with_structural_features(alone).features[:, :2].tolist() == [[0, 0]] * 3


def test_a_file_may_not_ask_for_more_codes_than_there_are_bits():
    structure = {"mean": 0.0, "scale": 1.0, "codes": 257, "steps": 6}
    with pytest.raises(InvalidInput, match="expected codes of structure of the columns from 0 to 256, got 257"):
        Columns.from_json({"columns": [], "structure": structure})


def test_a_perturbed_graph_has_the_features_of_its_new_links(ring):
    clean = with_structural_features(bare(ring))
    done = gvdn.perturb(clean, "wrong-links", np.arange(6), seed=0, victim_fraction=0.5)
    again = with_structural_features(bare(done.graph), clean.columns)
    np.testing.assert_array_equal(done.graph.features, again.features)
    assert (done.graph.features != clean.features).any()
    assert gvdn.replay(clean, done.receipt).graph.hash == done.graph.hash


def test_a_changed_row_of_a_graph_with_features_of_links_is_as_the_receipt_says(ring):
    clean = with_structural_features(bare(ring))
    done = gvdn.perturb(clean, "random-connections", np.arange(8), seed=0, victim_fraction=0.5)
    rows = done.receipt.changes.feature_rows
    assert len(rows)
    np.testing.assert_array_equal(done.graph.features[rows], done.receipt.changes.feature_values.toarray())


def test_injected_nodes_get_the_features_of_their_links(ring):
    clean = with_structural_features(bare(ring))
    done = gvdn.perturb(clean, "node-injection", np.arange(8), seed=0, victim_fraction=0.5)
    assert done.graph.num_nodes > clean.num_nodes
    again = with_structural_features(bare(done.graph), clean.columns)
    np.testing.assert_array_equal(done.graph.features, again.features)
