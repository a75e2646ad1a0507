import dataclasses

import numpy as np
import pytest

from gvdn.graph import edge_homophily, random_split, statistics


def test_the_row_of_a_barbell(barbell):
    row = statistics(barbell)
    assert (row.nodes, row.edges, row.edges_both_directions, row.classes) == (20, 91, 182, 2)
    assert row.average_degree == pytest.approx(182 / 20 + 1)
    assert row.edge_homophily == pytest.approx(90 / 91)
    assert row.average_degree_test is None


def test_the_degree_of_test_nodes_counts_the_loop(ring):
    assert statistics(ring, random_split(ring, seed=0)).average_degree_test == 5.0


def test_homophily_looks_only_at_edges_with_two_labels(path):
    half = dataclasses.replace(path, labels=np.array([0, 0, 1, -1, -1, -1]))
    assert edge_homophily(half) == 0.5
    assert edge_homophily(dataclasses.replace(path, labels=None)) is None
