"""Recovery with trust on parts: the same on any number of workers, and what the whole graph says."""

import copy
import json

import numpy as np
import pytest
import torch
from parts_runs import answers, fitted, later_of, run

from gvdn.errors import InvalidInput
from gvdn.methods.gvdn import recovering
from gvdn.methods.gvdn.choice import ALGORITHM_3, AS_IT_IS, TRUST, TRUST_ALONE
from gvdn.parts import best, recovery
from gvdn.parts.jobs import Diagnose, Recover
from gvdn.parts.joining import join
from gvdn.parts.model import read_model
from gvdn.parts.part import read_part

SHORT = {"recovery_epochs": 5}
CLOSE = 1e-5


@pytest.fixture
def later(clean, model, divided):
    graph, part = later_of(clean)
    return graph, divided(graph, "later", part=part, like=model[0].folder)


@pytest.fixture(scope="module")
def whole(model, clean):
    """The joined model, its graph in the order of the parts: random numbers go by position."""
    parts, folder = model
    order = np.concatenate([clean.locate(read_part(parts, number).ids) for number in range(4)])
    return join(read_model(folder), clean.subgraph(order))


def test_the_same_way_is_chosen_and_the_same_is_answered_on_one_to_four_workers(model, later, tmp_path):
    graph, parts = later
    told, said = [], []
    for workers in (1, 2, 3, 4):
        output = tmp_path / f"r{workers}"
        told.append(run(Recover(model[1], parts.folder, output, SHORT), workers))
        said.append(answers(output, parts, tmp_path / f"a{workers}", 5 - workers))
    assert said[0].keys() == set(graph.ids.tolist())
    for found, numbers in zip(told, said, strict=True):
        assert found["report"] == told[0]["report"]
        assert found["test"] == told[0]["test"]
        for node, row in said[0].items():
            np.testing.assert_allclose(numbers[node], row, atol=CLOSE)
    assert told[0]["report"]["in_question"] == 3  # the new nodes
    assert told[0]["report"]["withheld"] == 15
    assert sorted(path.name for path in (tmp_path / "r2").iterdir()) == sorted(
        ["model.json", "result.json", "shared.safetensors", "trust.safetensors"]
        + [f"{kind}-{number}.safetensors" for kind in ("part", "baseline") for number in range(4)]
    )


def test_what_the_untrained_ways_bring_back_is_what_they_do_on_the_whole_graph(
    whole, model, later, tmp_path, monkeypatch
):
    graph, parts = later
    chosen = graph.ids[5:140:9]
    monkeypatch.setattr(recovering, "withheld_rows", lambda *_: graph.locate(chosen))
    wanted = copy.copy(whole).set_params(**SHORT).recover(graph).report_
    ids = {number: read_part(parts, number).ids for number in range(4)}
    monkeypatch.setattr(best, "_withheld", lambda *given: np.flatnonzero(np.isin(ids[given[-1]], chosen)))
    found = run(Recover(model[1], parts.folder, tmp_path / "recovered", SHORT), 3)["report"]
    assert found["withheld"] == wanted.withheld == 15
    assert found["in_question"] == wanted.in_question
    for way in (AS_IT_IS, TRUST_ALONE):
        assert found["estimates"][way] == pytest.approx(wanted.estimates[way], abs=1e-4)


@pytest.mark.parametrize("way", [TRUST, TRUST_ALONE, AS_IT_IS, ALGORITHM_3])
def test_each_way_answers_as_the_whole_model_that_was_recovered_so(whole, model, later, way, tmp_path, monkeypatch):
    graph, parts = later
    decide = best.decide

    def this_way(*counted):
        found = decide(*counted)
        return type(found)(way, found.estimates, found.withheld, found.in_question)

    monkeypatch.setattr(best, "decide", this_way)
    run(Recover(model[1], parts.folder, tmp_path / "recovered", SHORT), 2)
    new = read_model(tmp_path / "recovered")
    assert (new.way, new.recovered, new.judges) == (way, True, True)
    rows = [new.rows(number) for number in range(4)]
    whole = copy.copy(whole)
    whole.recovered_, whole.way_, whole.rate_ = True, way, new.rate
    whole.ids_ = np.concatenate([one.ids for one in rows])
    network = whole.build(new.features, len(new.class_names), torch.Generator())
    W_z = torch.from_numpy(np.concatenate([one.W_z for one in rows]))
    network.load_state_dict({name: torch.from_numpy(one) for name, one in new.shared.items()} | {"W_z": W_z})
    whole.network_ = network
    wanted = np.concatenate([whole.predict_proba(graph), whole.embed(graph)], axis=1)
    found = answers(tmp_path / "recovered", parts, tmp_path / "answers", 3)
    place = len(new.class_names)
    for node, numbers in zip(graph.ids.tolist(), wanted, strict=True):
        np.testing.assert_allclose(np.delete(found[node], place), numbers, atol=CLOSE)


def test_what_is_not_known_is_hidden_from_the_judgement_too(clean, model, later, tmp_path):
    graph, parts = later
    table = tmp_path / "known.csv"
    hidden = clean.ids[::10]
    table.write_text("id\n" + "\n".join(np.setdiff1d(clean.ids, hidden).tolist()) + "\n")
    reports = [
        run(Recover(model[1], parts.folder, tmp_path / f"k{workers}", SHORT, known=table), workers)["report"]
        for workers in (1, 3)
    ]
    assert reports[0] == reports[1]
    assert reports[0]["in_question"] == 3 + np.isin(hidden, graph.ids).sum()
    told = run(Diagnose(tmp_path / "k3", parts.folder, tmp_path / "found"), 2)
    assert told["perturbed"]
    assert told["new_nodes"] == reports[0]["in_question"]


def test_a_recovery_that_was_stopped_in_its_second_training_ends_with_the_same_bits(model, later, tmp_path):
    _, parts = later

    class Stopped(Exception):
        pass

    def stopping(epoch, losses):
        if epoch == 8:
            raise Stopped

    how = {"progress": tmp_path / "progress", "save_every": 2}
    with pytest.raises(Stopped):
        run(Recover(model[1], parts.folder, tmp_path / "first", SHORT, callback=stopping, **how))
    epochs = []
    run(Recover(model[1], parts.folder, tmp_path / "again", SHORT, callback=lambda n, _: epochs.append(n), **how))
    assert epochs == [5, 8, 9, 10]
    run(Recover(model[1], parts.folder, tmp_path / "straight", SHORT))
    for name in ("model.json", "part-0.safetensors", "shared.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()


def test_trust_without_a_trust_model_is_refused(model, later, tmp_path):
    plain = fitted(model[0], tmp_path / "plain")
    with pytest.raises(InvalidInput, match="stores nothing of the clean graph to compare with"):
        run(Recover(plain, later[1].folder, tmp_path / "x", {"trust": True}))
    found = run(Recover(model[1], later[1].folder, tmp_path / "y", SHORT | {"trust": False}))
    assert (found["way"], found["report"]) == (ALGORITHM_3, None)
    assert json.loads((tmp_path / "y" / "model.json").read_text())["way"] == ALGORITHM_3
    assert recovery.WAYS not in [path.name for path in (tmp_path / "y").iterdir()]
