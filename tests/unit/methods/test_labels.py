"""Labels that are stored by id, to train again."""

import dataclasses

import numpy as np
import pytest
from small_models import mislabelled

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.methods.labels import StoredLabels

NAMES = ("a", "b", "c")


@pytest.fixture
def stored(ring, split) -> StoredLabels:
    return StoredLabels.of(ring, split)


def test_the_labels_of_training_and_validation_nodes_are_stored_and_no_others(stored, ring, split):
    assert stored.train_ids.tolist() == ring.ids[split.train].tolist()
    assert stored.train_labels.tolist() == ring.labels[split.train].tolist()
    assert stored.val_ids.tolist() == ring.ids[split.val].tolist()
    assert stored.val_labels.tolist() == ring.labels[split.val].tolist()


def test_the_same_graph_gets_its_labels_and_its_split_back(stored, ring, split):
    labelled, parts = stored.on(mislabelled(ring, np.arange(60)), NAMES)
    known = np.concatenate([split.train, split.val])
    assert labelled.labels[known].tolist() == ring.labels[known].tolist()
    assert (np.delete(labelled.labels, known) == -1).all()
    assert parts.train.tolist() == split.train.tolist()
    assert parts.val.tolist() == split.val.tolist()
    assert sorted(parts.test) == sorted(split.test)


def test_labels_follow_the_ids_when_the_order_of_the_nodes_changes(stored, ring, split):
    order = np.random.default_rng(0).permutation(60)
    labelled, parts = stored.on(ring.subgraph(order), NAMES)
    truth = dict(zip(ring.ids.tolist(), ring.labels.tolist(), strict=True))
    assert sorted(labelled.ids[parts.train]) == sorted(ring.ids[split.train])
    assert sorted(labelled.ids[parts.val]) == sorted(ring.ids[split.val])
    for node in (*parts.train, *parts.val):
        assert labelled.labels[node] == truth[str(labelled.ids[node])]


def test_nodes_that_are_gone_teach_nothing_and_new_ones_are_asked_nothing(stored, ring, split):
    left = np.setdiff1d(np.arange(60), split.train[:3])
    smaller = ring.subgraph(left)
    renamed = dataclasses.replace(smaller, ids=np.append(smaller.ids[:-1], "new"))
    labelled, parts = stored.on(renamed, NAMES)
    known, truth = np.isin(left[:-1], np.concatenate([split.train, split.val])), ring.labels[left[:-1]]
    assert labelled.labels.tolist() == [*np.where(known, truth, -1).tolist(), -1]
    assert left[parts.train].tolist() == [node for node in split.train[3:] if node != 59]
    assert len(parts.train) + len(parts.val) + len(parts.test) == 57


def test_the_classes_are_those_of_the_fit(stored, ring):
    unlabelled = dataclasses.replace(ring, labels=None, class_names=())
    assert unlabelled.num_classes == 0
    labelled, _ = stored.on(unlabelled, NAMES)
    assert labelled.class_names == NAMES


def test_the_other_graph_is_left_alone(stored, ring):
    before = ring.labels.tolist()
    stored.on(ring, NAMES)
    assert ring.labels.tolist() == before


def test_no_training_node_is_an_error(stored, barbell):
    with pytest.raises(InvalidInput, match="expected at least one training node, got none"):
        stored.on(barbell, NAMES)


@pytest.mark.parametrize("ids", ["text", "integer"])
def test_what_is_written_down_is_restored(ids, ring, split):
    graph = ring if ids == "text" else dataclasses.replace(ring, ids=np.arange(60) * 2)
    stored = StoredLabels.of(graph, split)
    assert set(stored.arrays()) == {
        "labels.train_ids",
        "labels.train_labels",
        "labels.val_ids",
        "labels.val_labels",
        "labels.test_ids",
    }
    again = StoredLabels.restored(stored.arrays() | {"ids": graph.ids})
    for field in dataclasses.fields(StoredLabels):
        assert getattr(again, field.name).tolist() == getattr(stored, field.name).tolist()


def test_a_validation_set_is_not_needed():
    graph = Graph.from_edges(np.array([[0, 1]]), np.ones((3, 1)), labels=np.array([0, 1, 0]))
    none = np.empty(0, dtype=np.int64)
    labelled, parts = StoredLabels.of(graph, Split(np.array([0, 1]), none, none)).on(graph, ("a", "b"))
    assert parts.val.tolist() == []
    assert labelled.labels.tolist() == [0, 1, -1]
