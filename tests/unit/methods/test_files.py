import dataclasses
import json

import numpy as np
import pytest
from small_models import scaled, small, stripped

from gvdn.errors import InvalidInput
from gvdn.graph import random_split
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


def test_an_existing_model_is_only_replaced_by_force(fitted, ring, tmp_path):
    fitted.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="is not empty"):
        fitted.save(tmp_path / "model")
    fitted.recover(ring).save(tmp_path / "model", force=True)
    assert GVDN.load(tmp_path / "model").recovered_
