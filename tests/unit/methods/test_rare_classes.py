"""Rare classes: the epoch that is taken, class weights, decisions on validation nodes, and what is told."""

import dataclasses
import warnings

import numpy as np
import pytest
from small_models import SMALL, small_method

from gvdn.errors import InvalidInput, TrainingWarning
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.advice import early_epoch, one_class
from gvdn.methods.decisions import calibrated, decided, prediction_sets, validation, with_threshold
from gvdn.methods.files import load_model
from gvdn.methods.gvdn import GVDN
from gvdn.methods.references.gcn import GNN
from gvdn.metrics import Decision, roc_auc
from gvdn.training.loop import Outcome


@pytest.fixture(scope="module")
def accounts() -> Graph:
    """Six hundred nodes, one in fifteen of them rare; features and links show it."""
    rng = np.random.default_rng(0)
    labels = (rng.random(600) < 0.066).astype(np.int64)
    features = rng.normal(0, 1, (600, 6)).astype(np.float32)
    features[:, :2] += 2.5 * labels[:, None]
    edges = rng.integers(0, 600, (1800, 2))
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    edges = edges[(edges[:, 0] != edges[:, 1]) & (same | (rng.random(1800) < 0.3))]
    return Graph.from_edges(edges, features, labels=labels, class_names=("legit", "fraud"), name="accounts")


@pytest.fixture(scope="module")
def parts(accounts) -> Split:
    return random_split(accounts, seed=0, train=0.4, val=0.3)


@pytest.mark.parametrize("cls", [GNN, GVDN])
def test_the_network_that_is_taken_ranks_the_rare_class(accounts, parts, cls):
    """Before, the earliest epoch of the best accuracy was taken: an untrained network that names the majority."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        model = cls(hidden=16, epochs=60).fit(accounts, parts, seed=0)
    rare = accounts.labels[parts.test] == 1
    assert roc_auc(model.predict_proba(accounts)[parts.test, 1], rare) > 0.8
    scores = [record["val"] for record in model.outcome_.history]
    assert model.outcome_.score == max(scores)
    assert scores.index(max(scores)) < model.outcome_.epoch, "the earliest of equal accuracies is not the best"


@pytest.mark.parametrize("word", list(SMALL))
def test_every_method_takes_class_weights_and_names_the_rare_class_more_often(word, accounts, parts):
    less = {"dropout": 0.5} if word == "airgnn" else {}  # four fifths of six features are all of them, one node in four
    named = [
        (
            small_method(word, class_weight=weight, select="loss", epochs=25, learning_rate=0.05, **less)
            .fit(accounts, parts, seed=0)
            .predict(accounts)
            == 1
        ).mean()
        for weight in ("none", "balanced")
    ]
    assert named[1] > named[0]


@pytest.mark.parametrize("select", ["accuracy", "macro-f1", "auc", "loss"])
def test_the_epoch_is_the_best_by_the_score_that_was_asked_for(accounts, parts, select):
    model = GNN(hidden=8, epochs=30, select=select).fit(accounts, parts, seed=1)
    scores = [record["val"] for record in model.outcome_.history]
    assert scores[model.outcome_.epoch] == max(scores) == model.outcome_.score


def test_settings_of_another_kind_are_refused():
    with pytest.raises(InvalidInput, match="unknown select 'f1'"):
        GNN(select="f1")
    with pytest.raises(InvalidInput, match="expected none or balanced as class_weight, got 'heavy'"):
        GNN(class_weight="heavy")


# ---- decisions


@pytest.fixture(scope="module")
def model(accounts, parts):
    return calibrated(GNN(hidden=16, epochs=40, class_weight="balanced").fit(accounts, parts, seed=0), accounts)


def test_a_threshold_is_chosen_on_the_validation_nodes_and_saved(model, accounts, parts, tmp_path):
    new, threshold = with_threshold(model, "recall=0.9")
    probs, labels = validation(model)
    assert ((probs[:, 1] >= threshold) & (labels == 1)).sum() >= 0.9 * (labels == 1).sum()
    expected = (new.predict_proba(accounts)[:, 1] >= threshold).astype(int)
    assert np.array_equal(new.predict(accounts), expected)
    assert not np.array_equal(new.predict(accounts), model.predict(accounts))
    new.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert np.array_equal(loaded.predict(accounts), expected)
    assert np.array_equal(validation(loaded)[0], probs)
    assert loaded.score(accounts, parts) == (expected[parts.test] == accounts.labels[parts.test]).mean()


def test_costs_of_one_kind_of_error_move_the_decision(model, accounts):
    dear = decided(model, Decision(np.array([[0.0, 1.0], [50.0, 0.0]])))
    assert (dear.predict(accounts) == 1).sum() > (model.predict(accounts) == 1).sum()
    with pytest.raises(InvalidInput, match="expected 2 x 2 costs"):
        decided(model, Decision(1 - np.eye(3)))


def test_sets_hold_the_true_class_of_test_nodes_about_as_often_as_promised(model, accounts, parts):
    held = prediction_sets(model, model.predict_proba(accounts), 0.9)
    assert held[parts.test, accounts.labels[parts.test]].mean() > 0.82


def test_a_model_without_stored_predictions_says_what_to_do(accounts, parts):
    with pytest.raises(InvalidInput, match="stores no predictions for validation nodes; train it with some"):
        with_threshold(GNN(hidden=4, epochs=2).fit(accounts, parts, seed=0))


def test_a_threshold_needs_two_classes_and_a_known_one(model, ring, split):
    three = calibrated(GNN(hidden=4, epochs=2).fit(ring, split, seed=0), ring)
    with pytest.raises(InvalidInput, match="expected a model of two classes for a threshold, got 3; give costs"):
        with_threshold(three)
    with pytest.raises(InvalidInput, match="unknown class 'frau'; did you mean 'fraud'"):
        with_threshold(model, positive="frau")


# ---- what is told


def test_an_early_epoch_of_a_long_training_is_told():
    history = [{"ce": 1.0, "val": 0.9}] * 30
    assert "epoch 3 of 30 were taken: the network is hardly trained" in str(early_epoch(Outcome(2, 0.9, history)))
    assert early_epoch(Outcome(5, 0.9, history)) is None
    assert early_epoch(Outcome(2, 0.9, history[:24])) is None
    assert early_epoch(Outcome(2, None, history)) is None


def test_a_fit_warns_of_it(accounts, parts):
    lazy = GNN(hidden=4, epochs=30, learning_rate=1e-12)
    flat = dataclasses.replace(accounts, features=np.zeros_like(accounts.features) + 1)
    with pytest.warns(TrainingWarning, match="the network is hardly trained"):
        lazy.fit(flat, parts, seed=0)


def test_one_class_for_all_is_told(model):
    assert "names one class only, 'legit'" in str(one_class(model, np.tile([0.9, 0.1], (5, 1))))
    assert one_class(model, np.array([[0.9, 0.1], [0.1, 0.9]])) is None
