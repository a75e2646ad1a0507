import numpy as np

from gvdn.graph.graph import not_linked
from gvdn.trust.links import class_pairs


def test_the_class_pair_table_counts_links_against_chance():
    classes = np.eye(2)[[0, 0, 1, 1]]
    table = class_pairs(classes, np.array([[0, 1], [2, 3], [0, 2]]))
    # Three links and one of chance: (1 + 1/4) / 4 within a class and (1/2 + 1/4) / 4 across, over a chance of 1/4.
    assert np.allclose(table, [[1.25, 0.75], [0.75, 1.25]])


def test_loops_links_and_repetitions_are_not_drawn(path):
    drawn = np.array([[0, 0], [1, 0], [0, 2], [2, 0], [5, 3]])
    assert not_linked(path, drawn).tolist() == [[0, 2], [3, 5]]
