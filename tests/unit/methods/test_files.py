import dataclasses
import hashlib
import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from small_models import scaled, small, stripped

from gvdn.errors import InvalidInput
from gvdn.graph import random_split
from gvdn.methods.files import load_model
from gvdn.methods.gvdn import GVDN


@pytest.fixture(params=["text ids", "integer ids"])
def saved(request, ring, tmp_path):
    """A graph, a model fitted on it, one recovered on part of it, and both as folders."""
    graph = ring if request.param == "text ids" else dataclasses.replace(ring, ids=np.arange(60) * 7 + 1000)
    fitted = small().fit(graph, random_split(graph, seed=0, train=0.2, stratified=True), seed=0)
    recovered = fitted.recover(stripped(graph, 30).subgraph(np.arange(10, 50)), known=graph.ids[20:45])
    fitted.save(tmp_path / "fitted")
    recovered.save(tmp_path / "recovered")
    return graph, {"fitted": fitted, "recovered": recovered}, tmp_path


@pytest.mark.parametrize("which", ["fitted", "recovered"])
def test_a_loaded_model_gives_identical_answers(which, saved):
    graph, models, folder = saved
    model, loaded = models[which], GVDN.load(folder / which)
    for one in (graph, stripped(graph, 30), scaled(graph, 25, 1e3)):
        assert np.array_equal(loaded.predict_proba(one), model.predict_proba(one))
        assert np.array_equal(loaded.embed(one), model.embed(one))
        assert np.array_equal(loaded.uncertainty(one, 2).probs, model.uncertainty(one, 2).probs)
    assert loaded == model
    assert loaded.outcome_ == model.outcome_
    assert loaded.recovered_ == model.recovered_
    assert loaded.ids_.tolist() == model.ids_.tolist()
    assert loaded.memory_.ids.tolist() == model.memory_.ids.tolist()


@pytest.mark.parametrize("labels", [False, True])
def test_a_loaded_model_recovers_to_the_same_bits(labels, saved):
    graph, models, folder = saved
    bare = stripped(graph, 30)
    ours, theirs = (one.recover(bare, labels=labels) for one in (models["fitted"], GVDN.load(folder / "fitted")))
    assert np.array_equal(ours.predict_proba(bare), theirs.predict_proba(bare))


def tampered(model: GVDN, folder, **change):
    """The folder of a model whose description was changed by hand."""
    model.save(folder / "model")
    about = folder / "model" / "model.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | change))
    return folder / "model"


def test_a_model_of_another_method_is_named(fitted, tmp_path):
    with pytest.raises(InvalidInput, match="expected a model of the method gvdn, got gcn"):
        GVDN.load(tampered(fitted, tmp_path, method="gcn"))


@pytest.mark.parametrize("change", [{"settings": {"width": 3}}, {"features": 9}, {"rate": None}], ids=str)
def test_a_model_that_does_not_fit_together_gets_one_sentence(change, fitted, tmp_path):
    with pytest.raises(InvalidInput, match="not a whole model .*; copy or train it again") as caught:
        GVDN.load(tampered(fitted, tmp_path, **change))
    assert "\n" not in str(caught.value)


def test_a_model_too_large_to_be_read_without_asking_is_saved_with_a_warning(fitted, ring, tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_MAX_BYTES", "8000")
    with pytest.warns(UserWarning, match="at most 8,000 are read; to load it, set GVDN_MAX_BYTES to"):
        fitted.save(tmp_path / "large")
    with pytest.raises(InvalidInput, match="GVDN_MAX_BYTES"):
        GVDN.load(tmp_path / "large")
    size = (tmp_path / "large" / "weights.safetensors").stat().st_size
    monkeypatch.setenv("GVDN_MAX_BYTES", str(4 * size))  # of which JSON may be a sixteenth
    assert np.array_equal(GVDN.load(tmp_path / "large").predict_proba(ring), fitted.predict_proba(ring))


def test_an_existing_model_is_only_replaced_by_force(fitted, ring, tmp_path):
    fitted.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="is not empty"):
        fitted.save(tmp_path / "model")
    fitted.recover(ring).save(tmp_path / "model", force=True)
    assert GVDN.load(tmp_path / "model").recovered_


# ---- hostile folders: whole by their checksums, and still refused


def sealed(folder, arrays=None, **change):
    """The folder with changed arrays and description, and with the checksum that belongs to them."""
    weights, about = folder / "weights.safetensors", json.loads((folder / "model.json").read_text())
    held = load_file(weights)
    held |= {name: np.ascontiguousarray(new(held[name])) for name, new in (arrays or {}).items()}
    save_file(held, weights)
    about["files"]["weights.safetensors"] = hashlib.sha256(weights.read_bytes()).hexdigest()
    about["settings"] |= change.pop("settings", {})
    (folder / "model.json").write_text(json.dumps(about | change))
    return folder


def refused(folder) -> str:
    with pytest.raises(InvalidInput, match=r"not a whole model \(.+\); copy or train it again") as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_was_only_sealed_again_is_loaded(fitted, ring, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = load_model(sealed(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(ring), fitted.predict_proba(ring))


@pytest.mark.parametrize("hidden", [4_000_000, 2**31, 2**62, 10**30, 10**6, 9, 0, -1, 2.5, None, True])
def test_a_network_of_another_size_than_the_weights_is_never_made(hidden, fitted, tmp_path, monkeypatch):
    """`hidden=4000000` took 6.6 GiB before it was refused."""
    fitted.save(tmp_path / "model")
    folder, real = sealed(tmp_path / "model", settings={"hidden": hidden}), torch.empty

    def empty(*sizes, **how):
        made = real(*sizes, **how)
        assert made.is_meta or made.numel() < 10_000
        return made

    monkeypatch.setattr(torch, "empty", empty)
    refused(folder)


@pytest.mark.parametrize("samples", [10**9, 10_001, -1, 1.5])
def test_a_number_of_draws_that_never_ends_is_refused(samples, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    refused(sealed(tmp_path / "model", settings={"samples": samples}))


@pytest.mark.parametrize(
    "change",
    [
        {"features": 10**30},
        {"features": -1},
        {"features": 5.0},
        {"class_names": []},
        {"class_names": ["a", "a", "b"]},
        {"class_names": ["a", "b", 3]},
        {"class_names": ["a", "b"]},
        {"class_names": "abc"},
        {"feature_names": ["a"] * 5},
        {"feature_names": ["a"]},
        {"seed": 1.5},
        {"seed": "0"},
        {"epoch": -1},
        {"epoch": 12},
        {"epoch": "1"},
        {"score": "high"},
        {"history": [{"ce": "low"}]},
        {"history": 3},
        {"settings": {"device": "cuda"}},
        {"settings": {"epochs": [1]}},
        {"settings": {"learning_rate": 10**400}},
        {"rate": [1.0]},
        {"rate": [0.5, 2.0]},
        {"max_norm": -1},
        {"recovered": 1},
        {"colour": 1},
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_description_of_other_kinds_is_refused(change, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    refused(sealed(tmp_path / "model", **change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("memory.mass", lambda array: array[:-1]),
        ("memory.own", lambda array: np.append(array, array)),
        ("memory.own", lambda array: array.astype(np.float64)),
        ("memory.H_emb", lambda array: array[:, :-1]),
        ("memory.logits", lambda array: array.T),
        ("memory.logits", lambda array: array * np.nan),
        ("memory.ids.text", lambda array: array[:-1]),
        ("memory.ids.text", lambda array: array.ravel()),
        ("memory.ids.text", lambda array: array[:, :0]),
        ("memory.ids.text", lambda array: np.repeat(array[:1], len(array), axis=0)),
        ("memory.ids.text", lambda array: np.full_like(array, 255)),
        ("ids.text", lambda array: array[1:]),
        ("labels.train_labels", lambda array: array + 3),
        ("labels.train_labels", lambda array: array - 3),
        ("labels.train_labels", lambda array: array.astype(np.int32)),
        ("labels.train_labels", lambda array: array[1:]),
        ("network.W_z", lambda array: array[1:]),
        ("network.heads.W", lambda array: array * np.inf),
        ("network.heads.W", lambda array: array.astype(np.float64)),
        ("network.out.W", lambda array: array[0]),
    ],
)
def test_arrays_of_another_shape_type_or_meaning_are_refused(name, change, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    refused(sealed(tmp_path / "model", {name: change}))


def test_arrays_that_are_missing_or_unknown_are_named(fitted, tmp_path):
    for name, change in (("network.more", {"network.more": 1}), ("more", {"more": 1}), ("memory.own", {})):
        fitted.save(tmp_path / "model", force=True)
        path = tmp_path / "model" / "weights.safetensors"
        held = load_file(path)
        held |= {one: np.zeros(3, dtype=np.float32) for one in change}
        if not change:
            del held[name]
        save_file(held, path)
        assert f"'{name}'" in refused(sealed(tmp_path / "model"))


def test_weights_that_overflow_give_a_sentence_and_no_probabilities(fitted, ring, tmp_path):
    fitted.save(tmp_path / "model")
    model = load_model(sealed(tmp_path / "model", {"network.out.W": lambda array: np.full_like(array, 3e38)}))
    with pytest.raises(InvalidInput, match="the predictions became NaN"):
        model.predict_proba(ring)


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"format": "gvdn-model", "version": 1e999}', b"\xff\xfe"])
def test_a_description_that_is_no_json_is_one_sentence(content, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    (tmp_path / "model" / "model.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"model.json: not whole JSON \(.*\); copy or train the model again"):
        load_model(tmp_path / "model")
