import dataclasses

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, random_split
from gvdn.perturbations import perturb
from gvdn.perturbations.self_training import self_training_labels


def attack(graph, *, seed=0, **given):
    return perturb(graph, "dice", random_split(graph, seed=0, train=0.3), seed=seed, **given)


def known(graph, labels: str) -> np.ndarray:
    train = random_split(graph, seed=0, train=0.3).train
    return graph.labels if labels == "all" else self_training_labels(graph, train)


@pytest.mark.parametrize("labels", ["train", "all"])
def test_links_inside_are_deleted_and_nodes_of_different_classes_are_connected(ring, labels):
    classes = known(ring, labels)
    for seed in range(4):
        done = attack(ring, seed=seed, labels=labels, edge_fraction=0.3)
        assert len(done.added) + len(done.removed) == int(ring.num_edges * 0.3 + 0.5)
        assert (classes[done.removed[:, 0]] == classes[done.removed[:, 1]]).all()
        assert (classes[done.added[:, 0]] != classes[done.added[:, 1]]).all()
        assert min(len(done.added), len(done.removed)) > 0


def test_what_the_attacker_knows_makes_a_difference(ring):
    """The surrogate errs on some nodes of the ring, so that not all of its flips are those of somebody who knows."""
    assert (known(ring, "train") != ring.labels).any()
    done = attack(ring, labels="train", edge_fraction=1.0, remove=0.0)
    assert (ring.labels[done.added[:, 0]] == ring.labels[done.added[:, 1]]).any()


@pytest.mark.parametrize(("remove", "added", "removed"), [(0.0, 36, 0), (1.0, 0, 36)])
def test_remove_is_the_share_of_deletions(ring, remove, added, removed):
    done = attack(ring, labels="all", edge_fraction=0.3, remove=remove)
    assert (len(done.added), len(done.removed)) == (added, removed)


def test_all_candidates_are_victims(ring):
    done = attack(ring)
    assert done.victims.tolist() == random_split(ring, seed=0, train=0.3).test.tolist()


def test_where_all_links_inside_are_gone_the_rest_connects(barbell):
    inside = int((barbell.labels[barbell.edges[:, 0]] == barbell.labels[barbell.edges[:, 1]]).sum())
    done = attack(barbell, labels="all", edge_fraction=1.0, remove=1.0)
    assert len(done.removed) == inside
    assert len(done.added) == barbell.num_edges - inside


def test_where_every_pair_between_classes_is_linked_nothing_is_added():
    """A complete graph of two nodes in each of two classes has no pair left."""
    edges = np.argwhere(np.triu(np.ones((4, 4)), 1))
    graph = Graph.from_edges(edges, np.eye(4, dtype=np.float32), labels=np.array([0, 0, 1, 1]), name="full")
    done = perturb(graph, "dice", [0, 1, 2, 3], seed=0, labels="all", edge_fraction=1.0, remove=0.0)
    assert (len(done.added), len(done.removed)) == (0, 0)


def test_all_pairs_between_classes_are_found_where_all_are_wanted():
    edges = np.array([[0, 1], [2, 3], [0, 2]])
    graph = Graph.from_edges(edges, np.eye(4, dtype=np.float32), labels=np.array([0, 0, 1, 1]), name="few")
    for seed in range(5):
        done = perturb(graph, "dice", [0, 1], seed=seed, labels="all", edge_fraction=1.0, remove=0.0)
        assert done.added.tolist() == [[0, 3], [1, 2], [1, 3]]


def test_nodes_without_a_label_are_left_alone_by_who_knows_the_labels(ring):
    labels = ring.labels.copy()
    labels[::2] = -1
    some = dataclasses.replace(ring, labels=labels, class_names=ring.class_names)
    done = attack(some, labels="all", edge_fraction=0.5)
    assert len(done.added)
    assert (labels[np.concatenate([done.added, done.removed])] >= 0).all()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"labels": "test"}, "expected train or all as labels of dice, got 'test'"),
        ({"remove": 1.5}, "expected remove between 0 and 1, got 1.5"),
        ({"edge_fraction": 0.0}, "expected edge_fraction above 0, got 0"),
        ({"edge_fraction": -1.0}, "expected edge_fraction between 0 and 1, got -1"),
    ],
)
def test_a_mistake_is_a_sentence(ring, given, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        attack(ring, **given)
