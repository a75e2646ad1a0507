"""What every fitted method survives: the disk, another setting, and being stopped half way."""

import dataclasses
import json
from functools import partial

import numpy as np
import pytest
from small_models import grown, small_method, stripped

from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split
from gvdn.methods.files import load_model as load
from gvdn.training.loop import NotFinite, train

NOBODY = np.empty(0, dtype=np.int64)


def same_answers(one, other, *graphs) -> bool:
    return all(np.array_equal(one.predict_proba(graph), other.predict_proba(graph)) for graph in graphs)


def interrupt_at(epoch: int):
    def stop(number, record):
        if number == epoch:
            raise KeyboardInterrupt

    return stop


# ---- the disk


def test_a_loaded_model_gives_identical_answers(fitted, ring, perturbed, tmp_path):
    fitted.save(tmp_path / "model")
    graphs = (ring, perturbed, ring.subgraph(np.arange(50, 10, -1)), stripped(ring, 30), grown(ring, 3))
    for loaded in (type(fitted).load(tmp_path / "model"), load(tmp_path / "model")):
        assert type(loaded) is type(fitted)
        assert loaded == fitted, "the settings are the same"
        assert same_answers(loaded, fitted, *graphs)
        assert loaded.outcome_ == fitted.outcome_
        assert (loaded.class_names_, loaded.seed_) == (("a", "b", "c"), 0)
        assert np.array_equal(loaded.embed(perturbed), fitted.embed(perturbed))


def test_integer_ids_and_dense_features_go_to_disk_as_well(make, barbell, tmp_path):
    graph = dataclasses.replace(barbell, ids=np.arange(20) * 7 + 1000)
    model = make(epochs=3).fit(graph, random_split(graph, seed=0, train=0.3, stratified=True), seed=5)
    model.save(tmp_path / "model")
    assert same_answers(load(tmp_path / "model"), model, graph, grown(graph, 3), graph.subgraph(np.arange(15)))


def test_a_model_without_a_validation_set_goes_to_disk_as_well(make, ring, split, tmp_path):
    model = make(epochs=3).fit(ring, Split(split.train, NOBODY, NOBODY), seed=0)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert same_answers(loaded, model, ring)
    assert loaded.outcome_ == model.outcome_


def test_a_loaded_model_can_be_fitted_anew(fitted, ring, split, tmp_path):
    fitted.save(tmp_path / "model")
    assert same_answers(load(tmp_path / "model").fit(ring, split, seed=0), fitted, ring)


def test_nothing_learned_is_nothing_to_save(make, tmp_path):
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
        load(tmp_path / "model")
    assert "\n" not in str(caught.value)


# ---- another setting


def test_an_unknown_setting_lists_the_known_ones(fitted):
    known = ", ".join(field.name for field in dataclasses.fields(fitted))
    with pytest.raises(InvalidInput, match=f"unknown setting 'widht' of {fitted.name}; known: {known}"):
        fitted.set_params(widht=3)
    with pytest.raises(InvalidInput, match="unknown setting 'epoch' of .*; did you mean 'epochs'"):
        fitted.set_params(epoch=3)


def test_a_setting_of_another_kind_is_refused(fitted):
    with pytest.raises(InvalidInput, match=f"expected a whole number for epochs of {fitted.name}, got 2.5"):
        fitted.set_params(epochs=2.5)


def test_the_shape_of_a_fitted_network_cannot_be_changed(make, fitted, ring):
    with pytest.raises(InvalidInput, match="hidden is the shape of the fitted network and cannot be changed"):
        fitted.set_params(hidden=9)
    assert same_answers(fitted.set_params(hidden=8), fitted, ring)
    assert make().set_params(hidden=9).hidden == 9, "a network that is not there yet can have any shape"


def test_a_copy_with_other_settings_leaves_the_old_one_alone(fitted, ring):
    before = fitted.settings()
    other = fitted.set_params(epochs=3, learning_rate=1)
    assert (other.epochs, other.learning_rate) == (3, 1.0)
    assert isinstance(other.learning_rate, float)
    assert fitted.settings() == before
    assert same_answers(other, fitted, ring)


def other(value: float) -> float:
    """Another value of the same kind that is in every range."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else 0.95 * value or 0.1


def test_a_setting_that_a_fitted_model_takes_is_the_same_after_the_disk(fitted, ring, tmp_path):
    """What the copy answers is what it answers when it comes back: no setting waits for the next time it is built."""
    different = []
    for name, value in fitted.settings().items():
        if name in fitted.shaping or isinstance(value, str):
            continue
        changed = fitted.set_params(**{name: other(value)})
        changed.save(tmp_path / name)
        if not same_answers(load(tmp_path / name), changed, ring):
            different.append(name)
    assert different == []


# ---- stopped half way


def test_a_fit_that_was_stopped_leaves_a_model_that_says_so(make, fitted, ring, split, tmp_path):
    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(ring, split, seed=0, callback=interrupt_at(3))
    for use in ("predict_proba", "predict", "embed", "uncertainty", "recover"):
        if hasattr(model, use):
            with pytest.raises(InvalidInput, match=f"this {type(model).__name__} is not fitted yet"):
                getattr(model, use)(ring)
    with pytest.raises(InvalidInput, match="nothing to save"):
        model.save(tmp_path / "model")
    assert same_answers(model.fit(ring, split, seed=0), fitted, ring)


def test_a_second_fit_that_was_stopped_leaves_the_first_whole_or_nothing(make, fitted, ring, split, barbell):
    model = make().fit(ring, split, seed=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(barbell, random_split(barbell, seed=0, stratified=True), seed=3, callback=interrupt_at(3))
    if not hasattr(model, "network_"):
        with pytest.raises(InvalidInput, match="is not fitted yet"):
            model.predict_proba(ring)
        return
    assert same_answers(model, fitted, ring)
    if hasattr(model, "recover"):
        assert same_answers(model.recover(ring), fitted.recover(ring), ring)


@pytest.fixture
def _saved_every_fourth_round(monkeypatch):
    for home in ("supervised", "gvdn"):
        monkeypatch.setattr(f"gvdn.methods.{home}.train", partial(train, save_every=4))


@pytest.mark.usefixtures("_saved_every_fourth_round")
def test_a_stopped_and_resumed_fit_ends_with_the_same_bits(make, ring, split, tmp_path):
    progress, seen = tmp_path / "progress.safetensors", []
    epochs = 8 // getattr(make(), "steps", 1)
    with pytest.raises(KeyboardInterrupt):
        make(epochs=epochs).fit(ring, split, seed=0, callback=interrupt_at(6), resume=progress)
    resumed = make(epochs=epochs).fit(
        ring, split, seed=0, callback=lambda number, record: seen.append(number), resume=progress
    )
    assert seen == [5, 6, 7, 8], "it went on where it was saved"
    whole = make(epochs=epochs).fit(ring, split, seed=0)
    assert resumed.outcome_ == whole.outcome_
    assert same_answers(resumed, whole, ring)
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_leaves_the_numbers_stops_the_fit(make, ring, split):
    """An infinite learning rate is refused; one that is merely absurd is found out."""
    loud = dataclasses.replace(ring, features=ring.features * np.float32(1e30))
    model = make(learning_rate=1e30)
    with pytest.raises(NotFinite, match="the loss term '[a-z]+' became (nan|inf) in epoch [0-9]+; lower the learning"):
        model.fit(loud, split, seed=0)
    with pytest.raises(InvalidInput, match="is not fitted yet"):
        model.predict_proba(ring)
