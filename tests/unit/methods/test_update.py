"""A model on the graph of a later day."""

import dataclasses

import numpy as np
import pytest
from small_models import SMALL, small, small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.methods.files import load_model

DAYS_LATER = slice(5, None)


@pytest.fixture
def later(ring) -> Graph:
    """The ring without its first five nodes and with five new ones, each linked to three; labels of two are known."""
    old = ring.subgraph(np.arange(ring.num_nodes)[DAYS_LATER])
    new = np.arange(5) + old.num_nodes
    links = np.array([(node, (3 * node + step) % old.num_nodes) for node in new for step in range(3)])
    features = np.concatenate([old.dense_features(), old.dense_features()[:5]])
    labels = np.concatenate([old.labels, [0, 1, -1, -1, -1]])
    ids = np.concatenate([old.ids, [f"new{number}" for number in range(5)]])
    edges = np.concatenate([old.edges, links])
    return Graph.from_edges(edges, features, labels=labels, ids=ids, class_names=ring.class_names, name="later")


@pytest.mark.parametrize("word", list(SMALL))
@pytest.mark.parametrize("epochs", [0, 4])
def test_every_method_goes_on_from_its_weights(word, epochs, ring, split, later, tmp_path):
    model = small_method(word).fit(ring, split, seed=0)
    before = model.predict_proba(ring)
    new = model.update(later, epochs=epochs)
    assert type(new) is type(model)
    assert new is not model
    assert np.array_equal(model.predict_proba(ring), before), "the old one stays as it was"
    probs = new.predict_proba(later)
    assert probs.shape == (later.num_nodes, 3)
    assert np.array_equal(probs, model.update(later, epochs=epochs).predict_proba(later)), "the same again"
    new.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(later), probs)


def test_without_epochs_the_weights_are_the_old_ones_and_what_is_stored_is_new(ring, split, later):
    model = small().fit(ring, split, seed=0)
    new = model.update(later, epochs=0)
    for name, tensor in model.network_.state_dict().items():
        if name != "W_z":
            assert (new.network_.state_dict()[name] == tensor).all()
    assert new.memory_.ids.tolist() == later.ids.tolist()
    assert new.outcome_ is model.outcome_
    rows = dict(zip(model.ids_.tolist(), model.network_.W_z, strict=True))
    for node, row in zip(new.ids_.tolist(), new.network_.W_z, strict=True):
        assert (row == rows[node]).all() if node in rows else (row == 0).all()


def test_labels_that_arrived_are_used_and_those_of_test_nodes_are_not(ring, split, later):
    model = small().fit(ring, split, seed=0)
    held = model.update(later, epochs=2).labels_
    used = {*held.train_ids.tolist(), *held.val_ids.tolist()}
    assert {"new0", "new1"} <= used
    assert not {"new2", "new3", "new4"} & used
    assert not set(ring.ids[split.test].tolist()) & used
    gone = set(ring.ids[:5].tolist())
    assert not gone & {*used, *held.test_ids.tolist()}
    changed = dataclasses.replace(later, labels=np.where(later.labels >= 0, (later.labels + 1) % 3, -1))
    known = np.isin(later.ids, ring.ids[split.test])
    mixed = dataclasses.replace(later, labels=np.where(known, changed.labels, later.labels))
    assert np.array_equal(
        model.update(mixed, epochs=3).predict_proba(later), model.update(later, epochs=3).predict_proba(later)
    ), "labels of test nodes are never read"


def test_a_label_that_was_corrected_is_taken_as_it_is_now(ring, split, later):
    node = next(node for node in ring.ids[split.train] if node in later.ids)
    labels = np.where(later.ids == node, (later.labels + 1) % 3, later.labels)
    held = small().fit(ring, split, seed=0).update(dataclasses.replace(later, labels=labels), epochs=0).labels_
    assert held.train_labels[held.train_ids == node] == labels[later.ids == node]


def test_a_node_is_in_the_same_part_whichever_day_it_arrives(ring, split, later):
    model = small().fit(ring, split, seed=0)
    at_once = model.update(later, epochs=0).labels_
    first = dataclasses.replace(later, labels=np.where(later.ids == "new1", -1, later.labels))
    one_by_one = model.update(first, epochs=0).update(later, epochs=0).labels_
    for part in ("train_ids", "val_ids"):
        assert sorted(getattr(at_once, part).tolist()) == sorted(getattr(one_by_one, part).tolist())


def test_a_day_without_labels_or_with_one_class_can_be_predicted_recovered_and_updated(ring, split, later):
    model = small().fit(ring, split, seed=0)
    for labels in (np.full(later.num_nodes, -1), np.zeros(later.num_nodes, dtype=np.int64)):
        day = dataclasses.replace(later, labels=labels)
        assert model.predict(day).shape == (later.num_nodes,)
        assert model.recover(day).predict(day).shape == (later.num_nodes,)
        assert model.update(day, epochs=2).predict(day).shape == (later.num_nodes,)
    bare = dataclasses.replace(later, labels=None, class_names=())
    assert np.array_equal(model.predict(bare), model.predict(later))
    assert model.update(bare, epochs=2).class_names_ == ring.class_names


def test_refusals(ring, split, later):
    model = small().fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match="expected epochs of at least 0, got -1"):
        model.update(later, epochs=-1)
    other = dataclasses.replace(later, class_names=("a", "b", "z"), labels=np.where(later.ids == "new0", 2, -1))
    with pytest.raises(InvalidInput, match="the model knows no class 'z', which node new0 of later has; fit it anew"):
        model.update(other)
    nobody = later.subgraph(np.flatnonzero(np.char.startswith(later.ids, "new")))
    alone = dataclasses.replace(nobody, labels=np.full(5, -1))
    with pytest.raises(InvalidInput, match="training node"):
        model.update(alone)


def test_a_stopped_update_goes_on(ring, split, later, tmp_path):
    model = small().fit(ring, split, seed=0)
    whole = model.update(later, epochs=30)

    def stop(epoch, losses):
        if epoch == 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.update(later, epochs=30, callback=stop, resume=tmp_path / "progress.safetensors")
    assert (tmp_path / "progress.safetensors").exists()
    seen = []
    again = model.update(
        later, epochs=30, callback=lambda epoch, losses: seen.append(epoch), resume=tmp_path / "progress.safetensors"
    )
    assert seen[0] == 21
    assert np.array_equal(again.predict_proba(later), whole.predict_proba(later))


def test_the_split_of_an_update_has_all_other_nodes_as_test_nodes(ring, split):
    assert isinstance(split, Split)
    labels = small().fit(ring, split, seed=0).labels_
    _, parts = labels.on(ring, ring.class_names)
    assert sorted([*parts.train, *parts.val, *parts.test]) == list(range(ring.num_nodes))
