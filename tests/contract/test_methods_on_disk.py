"""Every fitted method on disk, with changed settings, and stopped half way: what the contract does not say."""

import copy
import dataclasses
import json
from functools import partial

import numpy as np
import pytest
import torch
from small_models import grown, small_method, stripped

from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split
from gvdn.methods.files import load_model
from gvdn.training.loop import NotFinite, train

NO_NODES = np.empty(0, dtype=np.int64)


def same_predictions(one, other, *graphs) -> bool:
    return all(np.array_equal(one.predict_proba(graph), other.predict_proba(graph)) for graph in graphs)


def interrupt_at(epoch: int):
    def stop(number, record):
        if number == epoch:
            raise KeyboardInterrupt

    return stop


# ---- the disk


def test_a_loaded_model_is_the_saved_one(subject, perturbed, tmp_path):
    fitted, graph = subject.fitted, subject.graph
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert loaded == fitted, "the settings are the same"
    assert same_predictions(loaded, fitted, graph.subgraph(np.arange(50, 10, -1)), stripped(graph, 30))
    assert loaded.outcome_ == fitted.outcome_
    assert (loaded.class_names_, loaded.seed_) == (graph.class_names, 0)
    assert np.array_equal(loaded.embed(perturbed), fitted.embed(perturbed))
    assert same_predictions(loaded.fit(graph, subject.split, seed=0), fitted, graph), "it can be fitted again"


def test_integer_ids_and_dense_features_go_to_disk_as_well(make, barbell, tmp_path):
    graph = dataclasses.replace(barbell, ids=np.arange(20) * 7 + 1000)
    model = make(epochs=3).fit(graph, random_split(graph, seed=0, train=0.3, stratified=True), seed=5)
    model.save(tmp_path / "model")
    assert same_predictions(
        load_model(tmp_path / "model"), model, graph, grown(graph, 3), graph.subgraph(np.arange(15))
    )


def test_a_model_without_a_validation_set_goes_to_disk_as_well(make, ring, split, tmp_path):
    model = make(epochs=3).fit(ring, Split(split.train, NO_NODES, NO_NODES), seed=0)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert same_predictions(loaded, model, ring)
    assert loaded.outcome_ == model.outcome_


def test_a_method_that_is_not_fitted_is_not_saved(make, tmp_path):
    with pytest.raises(InvalidInput, match=f"this {type(make()).__name__} is not fitted yet; there is nothing to save"):
        make().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_model_of_another_method_is_named(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    other = type(small_method("mlp" if fitted.name != "mlp" else "snapshot"))
    with pytest.raises(InvalidInput, match=f"expected a model of the method {other.name}, got {fitted.name}"):
        other.load(tmp_path / "model")


def test_weights_that_do_not_fit_the_settings_get_one_sentence(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    about = json.loads((tmp_path / "model" / "model.json").read_text())
    about["settings"]["hidden"] = 9
    (tmp_path / "model" / "model.json").write_text(json.dumps(about))
    with pytest.raises(InvalidInput, match="not a whole model .*; copy or train it again") as caught:
        load_model(tmp_path / "model")
    assert "\n" not in str(caught.value)


# ---- changed settings


def test_an_unknown_setting_lists_the_known_ones(fitted):
    known = ", ".join(field.name for field in dataclasses.fields(fitted))
    with pytest.raises(InvalidInput, match=f"unknown setting 'xyz' of {fitted.name}; known: {known}"):
        fitted.set_params(xyz=3)
    with pytest.raises(InvalidInput, match="unknown setting 'epoch' of .*; did you mean 'epochs'"):
        fitted.set_params(epoch=3)


def test_the_shape_of_a_fitted_network_cannot_be_changed(make, fitted, ring):
    with pytest.raises(InvalidInput, match="hidden is the shape of the fitted network and cannot be changed"):
        fitted.set_params(hidden=9)
    assert fitted.set_params(hidden=8) is fitted
    assert make().set_params(hidden=9).hidden == 9, "a network that is not there yet can have any shape"


def test_a_setting_that_is_refused_changes_nothing(fitted):
    before = fitted.get_params()
    with pytest.raises(InvalidInput):
        fitted.set_params(learning_rate=0.3, epochs=0)
    assert fitted.get_params() == before


def test_settings_are_changed_in_place(make):
    model = make()
    assert model.set_params(epochs=3, learning_rate=1) is model
    assert (model.epochs, model.learning_rate) == (3, 1.0)
    assert isinstance(model.learning_rate, float)


def other(value: float) -> float:
    """Another value of the same kind that is in every range."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else 0.95 * value or 0.1


def test_a_setting_that_a_fitted_model_takes_is_the_same_after_the_disk(fitted, ring, tmp_path):
    """No setting takes effect only when the network is built the next time."""
    different = []
    for name, value in fitted.get_params().items():
        if name in fitted.shaping or isinstance(value, str):
            continue
        changed = copy.copy(fitted).set_params(**{name: other(value)})
        changed.save(tmp_path / name)
        if not same_predictions(load_model(tmp_path / name), changed, ring):
            different.append(name)
    assert different == []


# ---- stopped half way


def test_a_stopped_fit_leaves_a_method_that_is_not_fitted(subject, tmp_path):
    model = subject.make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(subject.graph, subject.split, seed=0, callback=interrupt_at(3))
    can = model.capabilities
    uses = {"predict_proba": True, "predict": True, "embed": can.embeds, "recover": can.recovers, "score": True}
    for use in [name for name, able in uses.items() if able]:
        with pytest.raises(InvalidInput, match=f"this {type(model).__name__} is not fitted yet"):
            getattr(model, use)(subject.graph)
    assert not [name for name in vars(model) if name.endswith("_")]
    assert same_predictions(model.fit(subject.graph, subject.split, seed=0), subject.fitted, subject.graph)


@pytest.fixture
def _saved_every_fourth_round(monkeypatch):
    monkeypatch.setattr("gvdn.methods.base.train", partial(train, save_every=4))


@pytest.mark.usefixtures("_saved_every_fourth_round")
def test_a_stopped_and_resumed_fit_ends_with_the_same_bits(make, ring, split, tmp_path):
    progress, seen = tmp_path / "progress.safetensors", []
    epochs = 8 // getattr(make(), "steps", 1)
    with pytest.raises(KeyboardInterrupt):
        make(epochs=epochs).fit(ring, split, seed=0, callback=interrupt_at(6), resume=progress)
    resumed = make(epochs=epochs).fit(
        ring, split, seed=0, callback=lambda number, record: seen.append(number), resume=progress
    )
    assert seen == [5, 6, 7, 8], "it continued where it was saved"
    whole = make(epochs=epochs).fit(ring, split, seed=0)
    assert resumed.outcome_ == whole.outcome_
    assert same_predictions(resumed, whole, ring)
    seen.clear()
    make(epochs=epochs).fit(ring, split, seed=0, callback=lambda number, record: seen.append(number), resume=progress)
    assert seen == [], "the progress of a finished fit stays until somebody has saved the method"


def test_a_loss_that_is_nan_or_infinite_stops_the_fit(make, ring, split):
    large = dataclasses.replace(ring, features=ring.features * np.float32(1e30))
    model = make(learning_rate=1e30)
    with pytest.raises(NotFinite, match="the loss term '[a-z]+' became (nan|inf) in epoch [0-9]+; lower the learning"):
        model.fit(large, split, seed=0)
    with pytest.raises(InvalidInput, match="is not fitted yet"):
        model.predict_proba(ring)


def test_loading_leaves_the_global_generator_as_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    before = torch.get_rng_state()
    load_model(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), before)
