"""What holds for every method that does something when it meets the perturbed graph."""

import dataclasses

import numpy as np
import pytest
from small_models import SMALL, content, grown, mislabelled, small_method

from gvdn.errors import InvalidInput
from gvdn.methods.contract import METHODS
from gvdn.methods.files import load_model as load

RECOVERING = ["graphss", "lindt", "gvdn", "gcn-retrained"]
REMEMBERING = ["graphss", "lindt"]


@pytest.fixture(params=RECOVERING)
def word(request) -> str:
    return request.param


@pytest.fixture
def recovered(fitted, perturbed):
    return fitted.recover(perturbed)


def test_four_methods_recover():
    assert [name for name in METHODS if hasattr(METHODS[name], "recover")] == RECOVERING
    assert set(RECOVERING) <= set(SMALL)


def test_recovery_leaves_the_old_model_and_the_graph_as_they_were(fitted, ring, perturbed):
    graphs = (ring, perturbed)
    before = [fitted.predict_proba(graph) for graph in graphs]
    outcome, learned, hashes = fitted.outcome_, set(vars(fitted)), [content(ring), content(perturbed)]
    recovered = fitted.recover(perturbed)
    assert recovered is not fitted
    assert not np.allclose(recovered.predict_proba(perturbed), before[1])
    assert all(np.array_equal(fitted.predict_proba(graph), old) for graph, old in zip(graphs, before, strict=True))
    assert fitted.outcome_ is outcome
    assert set(vars(fitted)) == learned
    assert [content(ring), content(perturbed)] == hashes


def test_recovery_is_the_same_each_time(fitted, recovered, perturbed):
    again = fitted.recover(perturbed)
    assert np.array_equal(again.predict_proba(perturbed), recovered.predict_proba(perturbed))
    assert again.outcome_ == recovered.outcome_


def test_recovery_reads_no_label_of_the_perturbed_graph(fitted, recovered, split, perturbed):
    honest = recovered.predict_proba(perturbed)
    liars = [
        mislabelled(perturbed, np.concatenate([split.val, split.test])),
        mislabelled(perturbed, np.arange(60)),
        dataclasses.replace(perturbed, labels=np.full(60, -1)),
        dataclasses.replace(perturbed, labels=np.full(60, -1), class_names=()),
    ]
    for liar in liars:
        assert np.array_equal(fitted.recover(liar).predict_proba(liar), honest)


def test_a_recovered_model_gives_identical_answers_after_the_disk(fitted, recovered, ring, perturbed, tmp_path):
    recovered.save(tmp_path / "model")
    for loaded in (type(fitted).load(tmp_path / "model"), load(tmp_path / "model")):
        for graph in (perturbed, ring, grown(perturbed, 3), perturbed.subgraph(np.arange(40, 10, -1))):
            assert np.array_equal(loaded.predict_proba(graph), recovered.predict_proba(graph))
        assert loaded.outcome_ == recovered.outcome_


def test_a_loaded_model_recovers_to_the_same_bits(fitted, recovered, perturbed, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model").recover(perturbed)
    assert np.array_equal(again.predict_proba(perturbed), recovered.predict_proba(perturbed))


def test_integer_ids_recover_as_text_does(word, fitted, recovered, ring, split, perturbed, tmp_path):
    numbered, hurt = (dataclasses.replace(graph, ids=np.arange(60) * 3 + 100) for graph in (ring, perturbed))
    model = small_method(word).fit(numbered, split, seed=0)
    model.recover(hurt).save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(hurt), recovered.predict_proba(perturbed))


def test_nodes_may_come_go_and_change_places(fitted, recovered, perturbed):
    larger = grown(perturbed, 3)
    assert fitted.recover(larger).predict_proba(larger).shape == (61, 3)
    smaller = perturbed.subgraph(np.arange(50, 10, -1))
    np.testing.assert_allclose(fitted.recover(smaller).predict_proba(smaller).sum(axis=1), 1)
    order = np.random.default_rng(0).permutation(60)
    moved = recovered.predict_proba(perturbed.subgraph(order))
    np.testing.assert_allclose(moved, recovered.predict_proba(perturbed)[order], atol=1e-5)


def test_a_recovered_model_recovers_again(recovered, ring):
    np.testing.assert_allclose(recovered.recover(ring).predict_proba(ring).sum(axis=1), 1)


def test_a_recovery_that_was_stopped_leaves_the_old_model_as_it_was(fitted, perturbed):
    def stop(number, record):
        if number == 3:
            raise KeyboardInterrupt

    before = fitted.predict_proba(perturbed)
    with pytest.raises(KeyboardInterrupt):
        fitted.recover(perturbed, callback=stop)
    assert np.array_equal(fitted.predict_proba(perturbed), before)
    assert not getattr(fitted, "recovered_", False)


def test_every_round_of_a_recovery_is_called_back(fitted, perturbed):
    calls = []
    recovered = fitted.recover(perturbed, callback=lambda number, record: calls.append((number, record)))
    rounds = {"graphss": 6, "lindt": 6, "gvdn": 6, "gcn-retrained": 10}[fitted.name]
    assert [number for number, _ in calls] == list(range(1, rounds + 1))
    assert fitted.recovery_rounds() == rounds
    assert [record for _, record in calls] == recovered.outcome_.history


def test_other_features_are_a_clear_error(fitted, barbell):
    with pytest.raises(InvalidInput, match="the model was fitted on 5 features, got 4 in barbell"):
        fitted.recover(barbell)


# ---- the fair mode


@pytest.mark.parametrize("word", REMEMBERING, indirect=True)
def test_known_says_whose_stored_answer_is_used(fitted, word, ring, split, perturbed):
    hidden, known = ring.ids[::2], ring.ids[1::2]
    fair = fitted.recover(perturbed, known=known).predict_proba(perturbed)
    liar = small_method(word).fit(ring, split, seed=0)
    liar.stored_[np.isin(liar.ids_, hidden)] = (liar.stored_[np.isin(liar.ids_, hidden)] + 1) % 3
    assert np.array_equal(liar.recover(perturbed, known=known).predict_proba(perturbed), fair)
    liar.stored_[np.isin(liar.ids_, known)] = (liar.stored_[np.isin(liar.ids_, known)] + 1) % 3
    assert not np.allclose(liar.recover(perturbed, known=known).predict_proba(perturbed), fair)


@pytest.mark.parametrize("word", REMEMBERING, indirect=True)
def test_nobody_known_is_fair_enough(fitted, perturbed, tmp_path):
    alone = fitted.recover(perturbed, known=perturbed.ids[:0])
    assert (alone.observed(perturbed) == -1).all()
    np.testing.assert_allclose(alone.predict_proba(perturbed).sum(axis=1), 1)
    alone.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(perturbed), alone.predict_proba(perturbed))


# ---- labels that are needed


@pytest.mark.parametrize("labels", [False, True])
def test_gvdn_reads_no_label_of_the_perturbed_graph_with_labels_either(labels, ring, split, perturbed):
    fitted = small_method("gvdn").fit(ring, split, seed=0)
    honest = fitted.recover(perturbed, labels=labels).predict_proba(perturbed)
    wrong = mislabelled(perturbed, np.arange(60))
    assert np.array_equal(fitted.recover(wrong, labels=labels).predict_proba(wrong), honest)


def test_gvdn_uses_the_training_labels_only_when_told_to(ring, split):
    fitted, misled = (small_method("gvdn").fit(ring, split, seed=0) for _ in range(2))
    misled.train_labels_ = (fitted.train_labels_ + 1) % 3
    for labels, same in ((False, True), (True, False)):
        probs = [model.recover(ring, labels=labels).predict_proba(ring) for model in (fitted, misled)]
        assert np.array_equal(*probs) == same


@pytest.mark.parametrize("word", ["graphss", "lindt", "gcn-retrained"], indirect=True)
def test_a_graph_without_any_training_node_is_a_clear_error(fitted, ring, split):
    strangers = ring.subgraph(np.setdiff1d(np.arange(60), split.train))
    with pytest.raises(InvalidInput, match="expected at least one training node, got none"):
        fitted.recover(strangers)
