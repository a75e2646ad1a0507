import numpy as np

from gvdn.graph import Graph
from gvdn.trust.changes import changes_since

IDS = np.array(["a", "b", "c", "d"])
EDGES = np.array([[0, 1], [1, 2], [2, 3]])


def graph(edges, ids):
    return Graph.from_edges(np.array(edges), np.ones((len(ids), 1)), ids=np.array(ids))


def test_the_same_graph_in_another_order_has_not_changed():
    found = changes_since(IDS, EDGES, graph([[3, 2], [2, 1], [1, 0]], ["d", "c", "b", "a"][::-1]))
    assert (len(found.links), found.number_lost, len(found.new_nodes), len(found.vanished)) == (0, 0, 0, 0)
    turned = changes_since(IDS, EDGES, graph([[0, 1], [1, 2], [2, 3]], ["d", "c", "b", "a"]))
    assert (len(turned.links), turned.number_lost, turned.stored.tolist()) == (0, 0, [3, 2, 1, 0])


def test_links_and_nodes_that_came_and_went_are_counted():
    # d vanished, e is new with two links, a-c came, b-c went.
    found = changes_since(IDS, EDGES, graph([[0, 1], [0, 2], [3, 0], [3, 1]], ["a", "b", "c", "e"]))
    assert found.links.tolist() == [[0, 2], [0, 3], [1, 3]]
    assert found.gained.tolist() == [2, 1, 1, 2]
    assert found.lost.tolist() == [0, 1, 1, 0]
    assert found.before.tolist() == [1, 2, 1, 0]
    assert (found.new_nodes.tolist(), found.vanished.tolist(), found.old) == ([3], [3], 2)
    assert found.exchanged == 0.5  # of two old links one went, and one came between stored nodes


def test_ids_that_were_never_stored_share_nothing():
    found = changes_since(IDS, EDGES, graph([[0, 1]], ["x", "y"]))
    assert (found.new_nodes.tolist(), len(found.vanished), found.old, found.exchanged) == ([0, 1], 4, 0, 0)
