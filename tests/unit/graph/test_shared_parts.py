"""Graphs that differ in one part share the others; what no graph has checked is checked and copied."""

import dataclasses
import gc

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, normalised_adjacency


def test_a_graph_with_other_links_shares_rows_labels_and_ids(ring):
    other = dataclasses.replace(ring, adjacency=2 * ring.adjacency)
    for part in ("features", "labels", "ids"):
        assert getattr(other, part) is getattr(ring, part)
    assert (other.edge_weights == 2).all()
    assert dataclasses.replace(ring, name="again").adjacency is ring.adjacency


def test_arrays_of_the_caller_are_copied_also_if_they_are_frozen():
    rows = np.ones((3, 2), dtype=np.float32)
    rows.setflags(write=False)
    graph = Graph.from_edges([[0, 1]], rows)
    assert not np.shares_memory(graph.features, rows)


def test_a_part_of_one_kind_is_no_checked_part_of_another():
    """Labels repeat, ids must not."""
    graph = Graph.from_edges([[0, 1]], np.eye(3), labels=[0, 1, 1])
    with pytest.raises(InvalidInput, match="unique ids"):
        dataclasses.replace(graph, ids=graph.labels)


def test_checked_parts_of_another_number_of_nodes_are_refused(ring):
    small = Graph.from_edges([[0, 1]], np.eye(3))
    for part in ("features", "labels", "ids"):
        with pytest.raises(InvalidInput, match="60"):
            dataclasses.replace(ring, **{part: getattr(small, part)})


def test_nothing_is_kept_of_graphs_that_are_gone():
    """An array at the address of one that is gone is checked."""
    for number in range(200):
        graph = Graph.from_edges([[0, 1]], np.full((3, 2), 1.0))
        del graph
        gc.collect(0)
        bad = np.full((3, 2), np.nan, dtype=np.float32)
        with pytest.raises(InvalidInput, match="finite"):
            Graph.from_edges([[0, 1]], bad, name=str(number))


def test_large_numbers_whose_sum_is_infinite_are_features():
    rows = np.full((4, 4), 3e38)
    assert np.isfinite(Graph.from_edges([[0, 1]], rows).features).all()


def test_the_normalised_adjacency_is_sorted_and_symmetric(ring):
    found = normalised_adjacency(ring)
    assert found.has_sorted_indices
    assert abs(found - found.T).max() == 0
