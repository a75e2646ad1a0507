"""Every method with a recovery: what the contract does not say."""

import dataclasses
import inspect

import numpy as np
import pytest
from small_models import SMALL, small_method

from gvdn.errors import InvalidInput
from gvdn.methods.contract import METHODS
from gvdn.methods.files import load_model
from gvdn.methods.recovery_settings import read_by_recovery, require_read

RECOVERING = [name for name in METHODS if METHODS[name].capabilities.recovers]
STORING = ["graphss", "lindt"]


@pytest.fixture(params=RECOVERING)
def word(request) -> str:
    return request.param


@pytest.fixture
def recovered(subject):
    return subject.recovered


def test_five_methods_recover():
    assert RECOVERING == ["graphss", "lindt", "gtrans", "gvdn", "gcn-retrained"]
    assert set(RECOVERING) <= set(SMALL)


@pytest.mark.parametrize("name", RECOVERING)
def test_the_declared_options_are_the_keywords_of_recover(name):
    _, *options = inspect.signature(METHODS[name].recover).parameters
    declared = METHODS[name].capabilities.recover_options
    assert set(options) - {"graph", "callback"} == set(declared)
    assert len(declared) == len(set(declared))


def test_a_recovery_reads_the_labels_of_fit_only_where_that_is_declared(word, subject):
    model = subject.fit()
    labels = model.labels_
    turned = {part: (getattr(labels, part) + 1) % 3 for part in ("train_labels", "val_labels")}
    expected = model.recover(subject.perturbed).predict_proba(subject.perturbed)
    model.labels_ = dataclasses.replace(labels, **turned)
    found = model.recover(subject.perturbed).predict_proba(subject.perturbed)
    assert np.array_equal(found, expected) != METHODS[word].capabilities.recovers_with_labels


def test_recovery_changes_the_predictions_and_adds_nothing_to_the_old_model(subject):
    model = subject.fit()
    outcome, learned = model.outcome_, set(vars(model))
    healed = model.recover(subject.perturbed)
    assert not np.allclose(healed.predict_proba(subject.perturbed), model.predict_proba(subject.perturbed))
    assert model.outcome_ is outcome
    assert set(vars(model)) == learned
    assert not getattr(model, "recovered_", False)


def test_integer_ids_recover_as_text_does(word, subject, recovered, tmp_path):
    numbered, hurt = (
        dataclasses.replace(graph, ids=np.arange(60) * 3 + 100) for graph in (subject.graph, subject.perturbed)
    )
    subject.fit(numbered).recover(hurt).save(tmp_path / "model")
    expected = recovered.predict_proba(subject.perturbed)
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(hurt), expected)


def test_every_round_of_a_recovery_is_called_back(word, ring, split, subject):
    """GVDN by Algorithm 3 alone: with a choice there are two trainings, and the model has the losses of one."""
    calls, fitted = [], small_method(word, **({"trust": False} if word == "gvdn" else {})).fit(ring, split, seed=0)
    healed = fitted.recover(subject.perturbed, callback=lambda number, record: calls.append((number, record)))
    rounds = {"graphss": 6, "lindt": 6, "gtrans": 10, "gvdn": 6, "gcn-retrained": 10}[fitted.name]
    assert [number for number, _ in calls] == list(range(1, rounds + 1))
    assert fitted.recovery_rounds() == rounds
    assert [record for _, record in calls] == healed.outcome_.history


def test_other_features_are_a_clear_error(fitted, barbell):
    with pytest.raises(InvalidInput, match="the model was fitted on 5 features, got 4 in barbell"):
        fitted.recover(barbell)


# ---- settings

OTHER_VALUES = {
    "learning_rate": 0.3, "weight_decay": 0.2, "dropout": 0.9, "epochs": 3, "select": "loss",
    "class_weight": "balanced", "recovery_epochs": 2, "recovery_learning_rate": 0.3, "pseudo_labels": "second-layer",
    "evidence_floor": 0.9,
}  # fmt: skip


def unread(model, **how: bool) -> list[str]:
    return sorted({*model.get_params()} - {*read_by_recovery(model, **how)} - {*model.shaping, "device"})


def answers(model, graph, **how: bool) -> np.ndarray:
    return model.recover(graph, **how).predict_proba(graph)


def test_a_recovery_gives_the_same_answers_with_any_value_of_a_setting_that_it_does_not_read(word, subject):
    model, expected = subject.fit(), answers(subject.fit(), subject.perturbed)
    model.set_params(**{name: OTHER_VALUES[name] for name in unread(model)})
    assert np.array_equal(answers(model, subject.perturbed), expected)


def test_the_same_where_the_graph_of_the_fit_may_be_poisoned(ring, split, perturbed):
    fitted = [small_method("gvdn").fit(ring, split, seed=0) for _ in range(2)]
    names = ["evidence_floor", "pseudo_labels", "recovery_epochs", "recovery_learning_rate"]
    assert unread(fitted[1], poisoned=True) == names
    fitted[1].set_params(**{name: OTHER_VALUES[name] for name in names})
    assert np.array_equal(*(answers(model, perturbed, poisoned=True) for model in fitted))


def test_a_recovery_asks_for_every_setting_that_it_is_said_to_read(word, subject):
    model, asked = subject.fit(), set()

    class Asked(type(model)):
        def __getattribute__(self, name):
            asked.add(name)
            return super().__getattribute__(name)

    said = read_by_recovery(model)
    model.__class__ = Asked
    asked.clear()
    healed = model.recover(subject.perturbed)
    healed.__class__ = Asked
    healed.predict_proba(subject.perturbed)
    assert set(said) <= asked
    assert {"gvdn": 16, "graphss": 11, "lindt": 12, "gtrans": 6, "gcn-retrained": 6}[word] == len(said)


@pytest.mark.parametrize("word", ["gvdn"], indirect=True)
def test_a_setting_that_a_recovery_does_not_read_is_refused_with_the_one_that_is_meant(subject):
    with pytest.raises(InvalidInput) as told:
        require_read(subject.fitted, ["trust", "epochs"])
    assert str(told.value).startswith(
        "expected a setting that the recovery of gvdn reads, got 'epochs'; did you mean 'recovery_epochs'? known: "
        "class_weight, sampler, diffusion, gamma_min, gamma_max,"
    )
    require_read(subject.fitted, ["epochs"], poisoned=True)
    with pytest.raises(InvalidInput, match="of a graph that may be poisoned reads, got 'recovery_epochs'"):
        require_read(subject.fitted, ["recovery_epochs"], poisoned=True)


def test_of_a_method_of_another_package_every_setting_may_be_read():
    class Another(METHODS["gvdn"]):
        name = "another"

    require_read(Another(), ["epochs"])


# ---- withheld nodes


@pytest.mark.parametrize("word", STORING, indirect=True)
def test_known_says_whose_stored_prediction_is_used(subject):
    hidden, known, hurt = subject.graph.ids[::2], subject.graph.ids[1::2], subject.perturbed
    expected = subject.fitted.recover(hurt, known=known).predict_proba(hurt)
    wrong = subject.fit()
    wrong.stored_[np.isin(wrong.ids_, hidden)] = (wrong.stored_[np.isin(wrong.ids_, hidden)] + 1) % 3
    assert np.array_equal(wrong.recover(hurt, known=known).predict_proba(hurt), expected)
    some = np.isin(wrong.ids_, known[::3])  # of all, it would be classes by other names
    wrong.stored_[some] = (wrong.stored_[some] + 1) % 3
    assert not np.allclose(wrong.recover(hurt, known=known).predict_proba(hurt), expected)


@pytest.mark.parametrize("word", STORING, indirect=True)
def test_all_stored_predictions_may_be_withheld(subject, tmp_path):
    hurt = subject.perturbed
    alone = subject.fitted.recover(hurt, known=hurt.ids[:0])
    assert (alone.observed(hurt) == -1).all()
    np.testing.assert_allclose(alone.predict_proba(hurt).sum(axis=1), 1)
    alone.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(hurt), alone.predict_proba(hurt))


# ---- training labels


def test_gvdn_uses_the_training_labels_only_when_told_to(ring, split):
    """By Algorithm 3 alone: where there is a choice, the model may stay as it is."""
    fitted, misled = (small_method("gvdn", trust=False).fit(ring, split, seed=0) for _ in range(2))
    wrong = (fitted.labels_.train_labels + 1) % 3
    misled.labels_ = dataclasses.replace(fitted.labels_, train_labels=wrong)
    for labels, same in ((False, True), (True, False)):
        probs = [model.recover(ring, labels=labels).predict_proba(ring) for model in (fitted, misled)]
        assert np.array_equal(*probs) == same


def test_gvdn_reads_no_label_of_the_perturbed_graph_with_labels_either(ring, split, perturbed):
    fitted = small_method("gvdn").fit(ring, split, seed=0)
    bare = dataclasses.replace(perturbed, labels=None, class_names=())
    honest, blind = (fitted.recover(graph, labels=True).predict_proba(perturbed) for graph in (perturbed, bare))
    assert np.array_equal(honest, blind)


@pytest.mark.parametrize("word", ["graphss", "lindt", "gcn-retrained"], indirect=True)
def test_a_graph_without_any_training_node_is_a_clear_error(subject):
    others = subject.graph.subgraph(np.setdiff1d(np.arange(60), subject.split.train))
    with pytest.raises(InvalidInput, match="expected at least one training node, got none"):
        subject.fitted.recover(others)
