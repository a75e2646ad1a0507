"""The course of GraphSS and LInDT: warm-up, retraining, and which sweep is taken. Its arithmetic is in reference/."""

import numpy as np
import pytest
import torch
from small_models import grown, rewired, small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.methods.defences import graphss
from gvdn.methods.defences.graphss import _Inference
from gvdn.nn.transition import UNOBSERVED, conditional
from gvdn.training.loop import train
from gvdn.training.selection import Score

NO_NODES = np.empty(0, dtype=np.int64)


@pytest.fixture(params=["graphss", "lindt"])
def word(request) -> str:
    return request.param


LONG = {"epochs": 20, "learning_rate": 0.05, "sweeps": 9, "warm_up": 3}
"""Trained for long enough that sweeps differ."""


@pytest.fixture(params=["argmax", "drawn"])
def inference(request) -> str:
    return request.param


@pytest.fixture
def fitted(word, inference, ring, split):
    return small_method(word, inference=inference, **LONG).fit(ring, split, seed=0)


@pytest.fixture
def drawing(word, ring, split):
    return small_method(word, inference="drawn", **LONG).fit(ring, split, seed=0)


@pytest.fixture
def published(word, ring, split):
    return small_method(word, inference="argmax", **LONG).fit(ring, split, seed=0)


@pytest.fixture
def hurt(ring) -> Graph:
    return rewired(ring)


# ---- which sweep is taken


def test_the_best_sweep_after_the_warm_up_is_taken(fitted, hurt):
    outcome = fitted.recover(hurt).outcome_
    scores = [record["val"] for record in outcome.history]
    assert len(scores) == 9
    assert outcome.score == max(scores[3:])
    assert outcome.epoch >= 3
    assert scores[outcome.epoch] == outcome.score


@pytest.mark.parametrize("seed", range(4))
def test_what_is_taken_is_what_was_scored(seed, word, inference, ring, split, hurt):
    settings = {"inference": inference, "sweeps": 9, "warm_up": 3, "retrain_epochs": 8, "learning_rate": 0.05}
    recovered = small_method(word, **settings).fit(ring, split, seed=seed).recover(hurt)
    right = (recovered.predict(hurt) == ring.labels)[split.val].mean()
    assert right == pytest.approx(recovered.outcome_.score)


def test_without_a_validation_set_the_last_sweep_is_taken(word, inference, ring, split, hurt):
    fitted = small_method(word, inference=inference).fit(ring, Split(split.train, NO_NODES, NO_NODES), seed=0)
    outcome = fitted.recover(hurt).outcome_
    assert (outcome.epoch, outcome.score) == (5, None)
    assert all(set(record) == {"changed"} for record in outcome.history)


def test_validation_labels_choose_and_teach_nothing(word, ring, split, hurt):
    """With one sweep to choose from, the validation labels have no say at all."""
    probs = []
    for shift in (0, 1):
        fitted = small_method(word, inference="drawn", sweeps=3, warm_up=2).fit(ring, split, seed=0)
        fitted.labels_.val_labels[:] = (fitted.labels_.val_labels + shift) % 3
        probs.append(fitted.recover(hurt).predict_proba(hurt))
    assert np.array_equal(*probs)


# ---- warm-up and retraining


@pytest.fixture
def sweeps(monkeypatch) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """phi of each sweep, the one that its draw gave, and the network's last weights then."""
    seen, original = [], _Inference._sweep

    def remember(self, phi):
        record = original(self, phi)
        seen.append((phi, self.phi, self.model.network_.out.W.detach().clone()))
        return record

    monkeypatch.setattr(_Inference, "_sweep", remember)
    return seen


def test_the_warm_up_uses_the_training_nodes_and_later_sweeps_the_one_before(fitted, hurt, sweeps):
    recovered = fitted.recover(hurt)
    assert len(sweeps) == 9
    for phi, *_ in sweeps[:3]:
        assert torch.equal(phi, fitted.phi_)
    for (phi, *_), (_, last, _) in zip(sweeps[3:], sweeps[2:], strict=False):
        assert torch.equal(phi, last)
    assert torch.equal(recovered.phi_, sweeps[recovered.outcome_.epoch][0])


def test_the_network_is_that_of_the_sweep_that_is_taken(drawing, hurt, sweeps):
    recovered = drawing.recover(hurt)
    assert torch.equal(recovered.network_.out.W, sweeps[recovered.outcome_.epoch][2])
    assert len({tuple(W.ravel().tolist()) for _, _, W in sweeps}) == 4, "it learns three times"


def test_without_a_warm_up_the_first_sweep_still_uses_the_training_nodes(word, ring, split, hurt, sweeps):
    fitted = small_method(word, warm_up=0).fit(ring, split, seed=0)
    fitted.recover(hurt)
    assert torch.equal(sweeps[0][0], fitted.phi_)
    assert torch.equal(sweeps[1][0], sweeps[0][1])


@pytest.fixture
def lessons(monkeypatch) -> list[dict]:
    """Every training that a recovery asks for."""
    seen = []

    def remember(task, optimizer, epochs, *, seed, purpose):
        seen.append({"train": task.train, "val": task.val, "epochs": epochs, "seed": seed, "purpose": purpose})
        return train(task, optimizer, epochs, seed=seed, purpose=purpose)

    monkeypatch.setattr(graphss, "train", remember)
    return seen


def test_the_network_learns_again_every_few_sweeps_after_the_warm_up(drawing, word, hurt, lessons):
    drawing.recover(hurt)  # sweeps 3, 5 and 7 of 9
    assert [lesson["purpose"] for lesson in lessons] == [f"retrain {word} {sweep}" for sweep in (3, 5, 7)]
    assert {lesson["epochs"] for lesson in lessons} == {3}
    assert {lesson["seed"] for lesson in lessons} == {0}


def test_as_published_it_learns_on_the_training_nodes_when_the_validation_score_rose(
    published, word, ring, split, hurt, lessons, monkeypatch
):
    """Of sweeps 0, 2, 4, 6 and 8, those whose score is above that of the last one that was learned from."""
    scores, original = [], _Inference._is_time_to_retrain
    made = iter([0.5, 0.9, 0.5, 0.9, 0.6, 0.9, 0.6, 0.9, 0.7])

    def scored(self, sweep):
        self.score = Score(next(made))
        scores.append(self.score.value)
        return original(self, sweep)

    monkeypatch.setattr(_Inference, "_is_time_to_retrain", scored)
    published.recover(hurt)
    assert len(scores) == 9
    assert [lesson["purpose"] for lesson in lessons] == [f"retrain {word} {sweep}" for sweep in (0, 4, 8)]
    for lesson in lessons:
        nodes, labels = lesson["train"]
        assert nodes.tolist() == split.train.tolist()
        assert labels.tolist() == ring.labels[split.train].tolist()
        assert lesson["val"][0].tolist() == split.val.tolist()


def test_as_published_a_label_is_the_most_probable_one(ring, split, hurt):
    inference = _Inference(small_method("graphss", inference="argmax").fit(ring, split, seed=0), hurt)
    inference._sweep(inference.warm)
    expected = conditional(inference.probs, inference.warm, inference.observed).argmax(dim=1).numpy()
    expected[split.train] = ring.labels[split.train]
    assert inference.labels.tolist() == expected.tolist()


def test_as_published_lindt_is_uncertain_of_what_changed_or_differs_from_the_stored_prediction(ring, split, hurt):
    inference = _Inference(small_method("lindt", inference="argmax").fit(ring, split, seed=0), hurt)
    inference.observed = torch.tensor([0, 0, 0, UNOBSERVED, UNOBSERVED])
    labels, before = torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 1, 1, 0])
    assert (inference._unlike(labels, before) != labels).tolist() == [False, True, True, False, True]


def test_an_unknown_inference_is_refused(word):
    with pytest.raises(InvalidInput, match="unknown inference 'draw'; did you mean 'drawn'"):
        small_method(word, inference="draw")


def test_a_lesson_is_about_all_nodes_and_the_training_nodes_keep_their_label(drawing, ring, split, hurt, lessons):
    drawing.recover(hurt)
    for lesson in lessons:
        nodes, labels = lesson["train"]
        assert nodes.tolist() == list(range(60))
        assert labels.numpy()[split.train].tolist() == ring.labels[split.train].tolist()
        assert len(lesson["val"][0]) == 0, "the last epoch of a retraining is taken"


def test_the_network_of_the_recovered_model_is_in_evaluation_mode(fitted, hurt):
    assert not fitted.recover(hurt).network_.training


# ---- the prior


def test_graphss_keeps_its_prior_and_lindt_follows_the_classes(fitted, word, hurt):
    inference = _Inference(fitted, hurt)
    inference.probs = torch.full((60, 3), 1 / 3)
    before = inference.alpha
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(3):
            inference._sweep(torch.full((3, 3), 1 / 3))
    assert torch.equal(inference.alpha, before) == (word == "graphss")
    assert (inference.alpha > 0).all()


# ---- stored predictions


def test_an_observation_is_found_by_id(fitted, ring):
    order = np.random.default_rng(0).permutation(60)
    assert fitted.observed(ring).tolist() == fitted.stored_.tolist()
    assert fitted.observed(ring.subgraph(order)).tolist() == fitted.stored_[order].tolist()
    assert fitted.observed(grown(ring, 3)).tolist() == [*fitted.stored_.tolist(), -1]
    others = Graph(ring.adjacency, ring.features, ids=np.arange(60))
    assert fitted.observed(others).tolist() == [-1] * 60


def test_the_share_of_nodes_with_a_stored_prediction_is_given(fitted, ring, hurt):
    assert fitted.reliance(ring) == {"nodes_with_stored_prediction": 1.0}
    assert fitted.recover(hurt, known=ring.ids[:15]).reliance(hurt) == {"nodes_with_stored_prediction": 0.25}


def test_before_it_recovers_it_is_the_gcn_that_it_was_fitted_as(word, ring, split):
    model = small_method(word).fit(ring, split, seed=0)
    with torch.no_grad():
        logits = model.answer(model.network_, model.view(ring))
    np.testing.assert_allclose(model.predict_proba(ring), logits.double().softmax(dim=1).numpy())


def test_where_stored_predictions_never_err_they_are_the_prediction(fitted, hurt):
    recovered = fitted.recover(hurt)
    recovered.phi_ = torch.eye(3) + 1e-30
    assert recovered.predict(hurt).tolist() == recovered.stored_.tolist()
