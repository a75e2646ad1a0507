"""train, predict, embed and recover with methods other than gvdn."""

import json
import re
from contextlib import contextmanager

import numpy as np
import pyarrow.csv as pacsv
import pytest
from commands import settings, write_tables
from small_models import SMALL

CHEAP = ["gcn", "mlp", "grand", "mc-dropout", "graphss", "gcn-retrained", "snapshot", "rgcn"]


def probabilities(path) -> np.ndarray:
    table = pacsv.read_csv(path)
    return np.stack([table["p_left"].to_numpy(), table["p_right"].to_numpy()], axis=1)


def other_friends(folder) -> None:
    """The same people, each linked to somebody of the other circle."""
    lines = ["source,target", *(f"p{number:02d},p{number + 20:02d}" for number in range(20))]
    (folder / "edges.csv").write_text("\n".join(lines) + "\n")


def test_as_a_user_would(gvdn, tables):
    done = gvdn("train", ".", "-o", "model", "--method", "gcn", *settings(epochs=6, hidden=8), "--json")
    assert done.returncode == 0, done.stderr
    assert {"validation_score", "test_accuracy", "test_entropy", "test", "output"} <= set(json.loads(done.stdout))
    assert gvdn("predict", "model", ".", "-o", "answers.csv").returncode == 0
    assert pacsv.read_csv(tables / "answers.csv").column_names == ["id", "class", "p_left", "p_right", "entropy"]


@pytest.mark.parametrize("method", CHEAP)
def test_a_model_answers_and_embeds(inside, tables, trained, method):
    model = trained(method)
    assert json.loads((model / "model.json").read_text())["method"] == method
    assert inside("predict", model, ".", "-o", "answers.csv").returncode == 0
    answers = pacsv.read_csv(tables / "answers.csv")
    common = ["id", "class", "p_left", "p_right", "entropy"]
    assert answers.column_names == [*common, *(["suspicious", "why"] if method == "snapshot" else [])]
    assert answers["id"].to_pylist() == [f"p{number:02d}" for number in range(40)]
    p = probabilities(tables / "answers.csv")
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert answers["class"].to_pylist() == [["left", "right"][best] for best in p.argmax(axis=1)]
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    np.testing.assert_allclose(answers["entropy"].to_numpy(), -(p * logs).sum(axis=1), atol=1e-5)
    assert inside("embed", model, ".", "-o", "rows.csv").returncode == 0
    rows = pacsv.read_csv(tables / "rows.csv")
    assert rows.column_names == [*common, *(f"h{number}" for number in range(8))]


@pytest.mark.parametrize(("method", "changes"), [("snapshot", False), ("mlp", False), ("gcn", True), ("rgcn", True)])
def test_other_links_change_the_answers_of_those_who_look_at_links(inside, tables, trained, method, changes):
    inside("predict", trained(method), ".", "-o", "before.csv")
    other_friends(tables)
    inside("predict", trained(method), ".", "-o", "after.csv")
    before, after = probabilities(tables / "before.csv"), probabilities(tables / "after.csv")
    assert bool(np.abs(before - after).max() > 1e-3) == changes


@pytest.mark.parametrize("method", ["graphss", "gcn-retrained"])
def test_recovery_writes_a_new_model_and_leaves_the_old_one(inside, tables, trained, method):
    model = trained(method)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    other_friends(tables)
    done = inside("recover", model, ".", "-o", "healed", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 <= found["answers_changed"] <= 1
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert json.loads((tables / "healed" / "model.json").read_text())["method"] == method
    inside("predict", model, ".", "-o", "old.csv")
    inside("predict", "healed", ".", "-o", "new.csv")
    old, new = probabilities(tables / "old.csv"), probabilities(tables / "new.csv")
    assert found["answers_changed"] == (old.argmax(axis=1) != new.argmax(axis=1)).mean()
    assert np.abs(old - new).max() > 1e-4


def test_a_recovered_model_recovers_the_same_again(inside, tables, trained):
    other_friends(tables)
    for output in ("one", "two"):
        assert inside("recover", trained("graphss"), ".", "-o", output).returncode == 0
        inside("predict", output, ".", "-o", f"{output}.csv")
    assert (tables / "one.csv").read_text() == (tables / "two.csv").read_text()


def test_known_restricts_whose_stored_answers_are_used(inside, tables, trained):
    (tables / "known.csv").write_text("id\np00\np25\n")
    done = inside("recover", trained("graphss"), ".", "-o", "healed", "--known", "known.csv", "--json")
    assert json.loads(done.stdout)["nodes_with_stored_prediction"] == 0.05


def test_samples_add_how_far_the_draws_disagree(inside, tables, trained):
    assert inside("predict", trained("mc-dropout"), ".", "-o", "answers.csv", "--samples", 4).returncode == 0
    answers = pacsv.read_csv(tables / "answers.csv")
    assert answers.column_names[-2:] == ["entropy", "mutual_information"]
    mutual, whole = answers["mutual_information"].to_numpy(), answers["entropy"].to_numpy()
    assert (mutual > 1e-6).any()
    assert (mutual <= whole + 1e-6).all()


def test_what_the_paper_prints_can_be_trained_with(inside, tables, trained):
    """A graph of one's own has no printed settings, so the defaults are taken."""
    words = ["train", ".", "-o", "out", "--method", "mc-dropout", "--paper", "--set", "epochs=2", "--set", "hidden=4"]
    assert inside(*words).returncode == 0
    assert json.loads((tables / "out" / "model.json").read_text())["settings"]["dropout"] == 0.5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", ".", "-o", "out", "--method", "gnc"], "unknown method 'gnc'; did you mean 'gcn'"),
        (
            ["train", ".", "-o", "out", "--method", "grand", "--set", "ordre=3"],
            "unknown setting 'ordre' of grand; did you mean 'order'",
        ),
        (["train", ".", "-o", "out", "--method", "gcn", "--set", "linear=1"], "expected true or false for linear of"),
        (["train", ".", "-o", "out", "--method", "gcn", "--set", "aggregator=gnc"], "unknown aggregator 'gnc'"),
        (["train", ".", "-o", "out", "--method", "mlp", "--set", "recovery_epochs=3"], "unknown setting 'recovery_ep"),
        (["recover", "{gcn}", ".", "-o", "out"], "the method gcn does not recover"),
        (["recover", "{snapshot}", ".", "-o", "out"], "the method snapshot does not recover"),
        (["recover", "{graphss}", ".", "-o", "out", "--labels"], "--labels is not supported by the method graphss"),
        (["recover", "{graphss}", ".", "-o", "out", "--poisoned"], "--poisoned is not supported by the method graphss"),
        (
            ["recover", "{gcn-retrained}", ".", "-o", "out", "--known", "known.csv"],
            "--known is not supported by the method gcn-retrained",
        ),
        (
            ["recover", "{gcn-retrained}", ".", "-o", "out", "--labels"],
            "--labels is not supported by the method gcn-retra",
        ),
        (["recover", "{graphss}", ".", "-o", "out", "--set", "hidden=9"], "hidden is the shape of the fitted network"),
        (["predict", "{gcn}", ".", "-o", "out.csv", "--samples", "3"], "a model of the method gcn has no uncertainty"),
        (["embed", "{mlp}", ".", "-o", "out.csv", "--samples", "3"], "a model of the method mlp has no uncertainty"),
        (["predict", "{mc-dropout}", ".", "-o", "out.csv", "--samples", "-3"], "expected at least one draw, got -3"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(inside, tables, trained, words, sentence):
    (tables / "known.csv").write_text("id\np00\n")
    before = sorted(path.name for path in tables.iterdir())
    filled = [re.sub(r"\{(.*)\}", lambda found: str(trained(found[1])), word) for word in words]
    done = inside(*filled)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tables.iterdir()) == before


def test_no_samples_are_fewer_than_none(inside, tables, trained):
    done = inside("predict", trained("gcn"), ".", "-o", "out.csv", "--samples", "0")
    assert done.returncode == 0


@pytest.mark.parametrize("word", ["gcn", "grand, normalised", "rgcn", "mc-dropout", "snapshot"])
def test_a_stopped_training_goes_on_where_it_was_and_ends_the_same(inside, tables, tmp_path, monkeypatch, word):
    method, small = SMALL[word]
    words = ["train", ".", "--method", method, *settings(**(small | {"epochs": 60}))]
    seen: list[int] = []

    def watched(stop_after: int):
        @contextmanager
        def progress(title, epochs):
            def told(epoch, losses):
                seen.append(epoch)
                if epoch == stop_after:
                    raise KeyboardInterrupt

            yield told

        return progress

    monkeypatch.setattr("gvdn.cli.model.progress", watched(45))
    done = inside(*words, "-o", "model")
    assert (done.returncode, "stopped" in done.stderr, (tables / "model").exists()) == (130, True, False)
    assert len(list(tables.glob(".model-*.progress.safetensors"))) == 1
    seen.clear()
    monkeypatch.setattr("gvdn.cli.model.progress", watched(0))
    assert inside(*words, "-o", "model").returncode == 0
    assert seen == list(range(41, 61))
    assert not list(tables.glob(".model-*"))
    monkeypatch.undo()
    apart = write_tables(tmp_path)
    assert inside(*words, "-o", "whole").returncode == 0
    for name in ("weights.safetensors", "split.csv"):
        assert (tables / "model" / name).read_bytes() == (apart / "whole" / name).read_bytes()
