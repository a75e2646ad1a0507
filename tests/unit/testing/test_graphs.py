import numpy as np

from gvdn.testing.graphs import content, grown, mislabelled, rewired, ring, tiny_graphs


def edges(graph):
    return {tuple(pair) for pair in graph.edges.tolist()}


def test_the_ring_joins_each_of_sixty_nodes_to_the_next_two():
    graph = ring()
    assert edges(graph) == {tuple(sorted((node, (node + step) % 60))) for node in range(60) for step in (1, 2)}
    assert np.bincount(graph.labels).tolist() == [20, 20, 20]
    assert graph.ids[[0, 59]].tolist() == ["n00", "n59"]


def test_the_features_of_the_ring_show_the_class_and_are_sparse():
    graph = ring()
    features = graph.dense_features()
    assert features.shape == (60, 5)
    assert (features[:, :3].argmax(axis=1) == graph.labels).all()
    assert 0.2 < (features == 0).mean() < 0.8
    assert features[features > 0].min() > 0.6


def test_tiny_graphs_are_what_their_names_say():
    tiny = tiny_graphs()
    assert edges(tiny["one edge"][0]) == {(0, 1)}
    assert tiny["one edge"][0].labels.tolist() == [0, 1]
    small, split = tiny["a class with one node"]
    assert (edges(small), np.bincount(small.labels).tolist()) == ({(0, 1), (1, 2), (2, 3)}, [5, 1])
    assert np.flatnonzero(small.labels == 1) in split.train
    assert tiny["no edges"][0].num_edges == 0
    zeros = tiny["all features zero"][0]
    assert (edges(zeros), zeros.dense_features().any()) == ({(0, 1), (2, 3)}, np.False_)
    empty = tiny["a class without a node"][0]
    assert (empty.num_classes, np.unique(empty.labels).tolist()) == (3, [0, 1])
    for name, (graph, split) in tiny.items():
        assert graph.num_nodes == (2 if name == "one edge" else 6)
        assert sorted(np.concatenate([split.train, split.val, split.test])) == list(range(graph.num_nodes))
        assert len(np.unique(graph.labels[split.train])) == 2


def test_a_rewired_graph_lost_eight_edges_gained_some_and_has_one_larger_row():
    before, after = ring(), rewired(ring())
    assert len(edges(before) - edges(after)) == 8
    assert 1 <= len(edges(after) - edges(before)) <= 8
    changed = np.flatnonzero((after.dense_features() != before.dense_features()).any(axis=1))
    assert changed.tolist() == [7]
    np.testing.assert_allclose(after.dense_features()[7], 3 * before.dense_features()[7])
    assert (after.labels == before.labels).all()
    assert (after.ids == before.ids).all()


def test_mislabelled_nodes_have_the_next_class():
    graph = mislabelled(ring(), np.array([0, 59]))
    assert graph.labels[[0, 59]].tolist() == [1, 0]
    assert (graph.labels[1:59] == ring().labels[1:59]).all()


def test_a_grown_graph_has_an_unlabelled_copy_of_a_node_that_is_joined_to_it():
    graph = grown(ring(), 3)
    assert edges(graph) - edges(ring()) == {(3, 60)}
    assert (graph.dense_features()[60] == graph.dense_features()[3]).all()
    assert (graph.labels[60], graph.ids[60]) == (-1, "new")
    numbered = grown(tiny_graphs()["no edges"][0], 0)
    assert numbered.ids.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_the_content_is_that_of_the_arrays_now():
    graph = ring()
    before = content(graph)
    assert before == graph.hash
    graph.labels.flags.writeable = True
    graph.labels[0] = 2
    assert content(graph) != before
