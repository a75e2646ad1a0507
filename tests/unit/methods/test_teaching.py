"""Labels that are kept for learning again, by id."""

import dataclasses

import numpy as np
import pytest
from gvdn.methods.teaching import Teaching
from small_models import mislabelled

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split

NAMES = ("a", "b", "c")


@pytest.fixture
def teaching(ring, split) -> Teaching:
    return Teaching.of(ring, split)


def test_the_labels_of_training_and_validation_nodes_are_kept_and_no_others(teaching, ring, split):
    assert teaching.train_ids.tolist() == ring.ids[split.train].tolist()
    assert teaching.train_labels.tolist() == ring.labels[split.train].tolist()
    assert teaching.val_ids.tolist() == ring.ids[split.val].tolist()
    assert teaching.val_labels.tolist() == ring.labels[split.val].tolist()


def test_the_same_graph_gets_its_labels_and_its_split_back(teaching, ring, split):
    taught, parts = teaching.on(mislabelled(ring, np.arange(60)), NAMES)
    known = np.concatenate([split.train, split.val])
    assert taught.labels[known].tolist() == ring.labels[known].tolist()
    assert (np.delete(taught.labels, known) == -1).all()
    assert parts.train.tolist() == split.train.tolist()
    assert parts.val.tolist() == split.val.tolist()
    assert sorted(parts.test) == sorted(split.test)


def test_labels_follow_the_ids_when_nodes_change_places(teaching, ring, split):
    order = np.random.default_rng(0).permutation(60)
    taught, parts = teaching.on(ring.subgraph(order), NAMES)
    truth = dict(zip(ring.ids.tolist(), ring.labels.tolist(), strict=True))
    assert sorted(taught.ids[parts.train]) == sorted(ring.ids[split.train])
    assert sorted(taught.ids[parts.val]) == sorted(ring.ids[split.val])
    for node in (*parts.train, *parts.val):
        assert taught.labels[node] == truth[str(taught.ids[node])]


def test_nodes_that_are_gone_teach_nothing_and_new_ones_are_asked_nothing(teaching, ring, split):
    left = np.setdiff1d(np.arange(60), split.train[:3])
    smaller = ring.subgraph(left)
    renamed = dataclasses.replace(smaller, ids=np.append(smaller.ids[:-1], "new"))
    taught, parts = teaching.on(renamed, NAMES)
    known, truth = np.isin(left[:-1], np.concatenate([split.train, split.val])), ring.labels[left[:-1]]
    assert taught.labels.tolist() == [*np.where(known, truth, -1).tolist(), -1]
    assert left[parts.train].tolist() == [node for node in split.train[3:] if node != 59]
    assert len(parts.train) + len(parts.val) + len(parts.test) == 57


def test_the_classes_are_those_of_the_fit(teaching, ring):
    unlabelled = dataclasses.replace(ring, labels=None, class_names=())
    assert unlabelled.num_classes == 0
    taught, _ = teaching.on(unlabelled, NAMES)
    assert taught.class_names == NAMES


def test_the_other_graph_is_left_alone(teaching, ring):
    before = ring.labels.tolist()
    teaching.on(ring, NAMES)
    assert ring.labels.tolist() == before


def test_nobody_left_to_learn_from_is_an_error(teaching, barbell):
    with pytest.raises(InvalidInput, match="expected at least one training node, got none"):
        teaching.on(barbell, NAMES)


@pytest.mark.parametrize("ids", ["text", "integer"])
def test_what_is_written_down_is_restored(ids, ring, split):
    graph = ring if ids == "text" else dataclasses.replace(ring, ids=np.arange(60) * 2)
    teaching = Teaching.of(graph, split)
    assert set(teaching.arrays()) == {
        "teaching.train_ids",
        "teaching.train_labels",
        "teaching.val_ids",
        "teaching.val_labels",
    }
    again = Teaching.restored(teaching.arrays() | {"ids": graph.ids})
    for field in dataclasses.fields(Teaching):
        assert getattr(again, field.name).tolist() == getattr(teaching, field.name).tolist()


def test_a_validation_set_is_not_needed():
    graph = Graph.from_edges(np.array([[0, 1]]), np.ones((3, 1)), labels=np.array([0, 1, 0]))
    nobody = np.empty(0, dtype=np.int64)
    taught, parts = Teaching.of(graph, Split(np.array([0, 1]), nobody, nobody)).on(graph, ("a", "b"))
    assert parts.val.tolist() == []
    assert taught.labels.tolist() == [0, 1, -1]
