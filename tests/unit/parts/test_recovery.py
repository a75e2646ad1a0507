"""Recovery on parts: what may be used of the stored, labels, class weights."""

import json

import numpy as np
import pytest
from parts_runs import UNEQUAL, fitted, run

from gvdn.errors import InvalidInput
from gvdn.parts.jobs import Recover
from gvdn.parts.model import TRAIN, read_model


@pytest.fixture
def later(awkward, divided, tmp_path):
    """A model, and the same graph divided like the parts that it was trained on."""
    clean = divided(awkward)
    return fitted(clean, tmp_path / "model"), divided(awkward, "later", part=UNEQUAL, like=clean.folder)


def rows(model):
    known = read_model(model)
    return [known.rows(number) for number in range(5)]


def weights(model):
    return {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}


def test_only_what_was_stored_of_known_nodes_is_used_and_kept(later, awkward, tmp_path):
    model, parts = later
    table = tmp_path / "known.csv"
    hidden = set(awkward.ids[:30:3].tolist())
    table.write_text("id\n" + "\n".join(node for node in awkward.ids.tolist() if node not in hidden) + "\n")
    outputs = [tmp_path / "one", tmp_path / "three"]
    for output, workers in zip(outputs, (1, 3), strict=True):
        told = run(Recover(model, parts.folder, output, known=table), workers)
        assert told["nodes_with_stored_embedding"] == pytest.approx(60 / 70)
    assert weights(outputs[0]) == weights(outputs[1])
    assert {node for one in rows(outputs[0]) for node in one.known.tolist()} == set(awkward.ids.tolist()) - hidden
    everyone = tmp_path / "everyone.csv"
    everyone.write_text("id\n" + "\n".join(awkward.ids.tolist()) + "\n")
    run(Recover(model, parts.folder, tmp_path / "all", known=everyone))
    run(Recover(model, parts.folder, tmp_path / "none"))
    assert weights(tmp_path / "all") == weights(tmp_path / "none") != weights(outputs[0])


def test_a_table_without_a_known_node_is_refused(later, tmp_path):
    model, parts = later
    (tmp_path / "known.csv").write_text("id\nnobody\n")
    with pytest.raises(InvalidInput, match="no node of awkward has a stored embedding to recover from"):
        run(Recover(model, parts.folder, tmp_path / "x", known=tmp_path / "known.csv"))
    (tmp_path / "other.csv").write_text("name\nnobody\n")
    with pytest.raises(InvalidInput, match="expected a column id, got name"):
        run(Recover(model, parts.folder, tmp_path / "y", known=tmp_path / "other.csv"))


def test_training_labels_take_the_place_of_pseudo_labels_where_they_differ(later, tmp_path):
    model, parts = later
    differ = sum(int((one.logits.argmax(1) != one.labels)[one.roles == TRAIN].sum()) for one in rows(model))
    assert differ > 0
    for name, labels in (("with", True), ("without", False)):
        run(Recover(model, parts.folder, tmp_path / name, labels=labels), 2)
    assert weights(tmp_path / "with") != weights(tmp_path / "without")


def test_balanced_classes_count_alike_among_the_pseudo_labels(later, tmp_path):
    """The first L_ce with and without, from the answers on the clean graph."""
    model, parts = later
    told = []
    for name, word in (("plain", "none"), ("balanced", "balanced")):
        run(Recover(model, parts.folder, tmp_path / name, {"class_weight": word, "recovery_epochs": 1}), 2)
        told.append(json.loads((tmp_path / name / "model.json").read_text())["history"][0]["ce"])
    pseudo = np.concatenate([one.logits.argmax(axis=1) for one in rows(model)])
    assert len(np.unique(np.bincount(pseudo))) > 1  # the classes are not of one size, or nothing could be seen
    assert told[0] != told[1]
