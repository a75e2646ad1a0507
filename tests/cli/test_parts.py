"""`gvdn partition`, then train, recover, predict, embed and join on parts, as a user types them; without Ray."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import settings, write_accounts

import gvdn
from gvdn.data.table_files import read_table

FEW = settings(epochs=4, hidden=5, recovery_epochs=3, trust="false")


@pytest.fixture
def parts(inside, tmp_path):
    """The accounts in three parts, and a model that was trained on them."""
    write_accounts(tmp_path)
    done = inside("partition", ".", "-o", "parts", "--parts", "3", "--partitioner", "stream")
    assert (done.returncode, done.stderr) == (0, "")
    done = inside("train", "parts", "-o", "model", "--train", "0.3", *FEW)
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path


def table(folder) -> pa.Table:
    return pa.concat_tables([pq.read_table(folder / f"part-{number}.parquet") for number in range(3)])


def test_a_graph_in_parts_is_trained_asked_recovered_and_embedded(inside, parts):
    done = inside("predict", "model", "parts", "-o", "answers", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == 60
    assert told["scores"]["nodes"] < 60  # those that it was trained or chosen on are not scored
    assert sorted(path.name for path in (parts / "answers").iterdir()) == [
        "manifest.json", "part-0.parquet", "part-1.parquet", "part-2.parquet",
    ]  # fmt: skip
    assert sorted(table(parts / "answers")["id"].to_pylist()) == [f"acc-{n:02d}" for n in range(60)]
    with (parts / "edges.csv").open("a") as edges:
        edges.writelines(f"acc-07,acc-{number:02d},1,transfer\n" for number in range(20, 50))
    assert inside("partition", ".", "-o", "later", "--like", "parts").returncode == 0
    done = inside("recover", "model", "later", "-o", "recovered", "--save-memory")
    assert (done.returncode, done.stderr) == (0, "")
    assert "nodes with a stored embedding" in done.stdout
    done = inside("embed", "recovered", "later", "-o", "embedded", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert table(parts / "embedded").column_names[-5:] == [f"h{k}" for k in range(5)]
    assert "written: embedded (60 rows in 3 files)" in done.stdout


def test_a_graph_in_parts_is_diagnosed_with_tables_for_each_part(inside, parts):
    done = inside("train", "parts", "-o", "trusting", "--train", "0.3", *FEW, "--set", "trust=true")
    assert (done.returncode, done.stderr) == (0, "")
    done = inside("diagnose", "trusting", "parts")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is not perturbed, with 5% of false alarms" in " ".join(done.stdout.split())
    with (parts / "edges.csv").open("a") as edges:
        edges.writelines(f"acc-07,acc-{number:02d},1,transfer\n" for number in range(20, 50))
    assert inside("partition", ".", "-o", "later", "--like", "parts").returncode == 0
    done = inside("diagnose", "trusting", "later", "-o", "found", "--top", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "suspicious nodes" in done.stdout
    assert "acc-07" in done.stdout
    nodes = pa.concat_tables([pq.read_table(path) for path in sorted((parts / "found" / "nodes").iterdir())])
    assert sorted(nodes["id"].to_pylist()) == [f"acc-{n:02d}" for n in range(60)]
    first = nodes.sort_by([("score", "descending")]).slice(0, 1).to_pylist()[0]
    assert first["id"] == "acc-07"
    assert "new links in one step" in first["why"]
    told = json.loads((parts / "found" / "diagnosis.json").read_text())
    assert told["nodes_ranked"][0]["id"] == "acc-07"
    links = [pq.read_table(path).num_rows for path in sorted((parts / "found" / "links").iterdir())]
    assert sum(links) == told["new_links"] > 20
    again = json.loads(inside("diagnose", "trusting", "later", "--json").stdout)
    assert again["written"] == []
    assert again["because"] == told["because"]


def test_a_joined_model_says_what_its_parts_say_and_takes_the_other_commands(inside, parts):
    assert inside("predict", "model", "parts", "-o", "answers").returncode == 0
    done = inside("join", "model", ".", "-o", "whole")
    assert (done.returncode, done.stderr) == (0, "")
    assert inside("predict", "whole", ".", "-o", "whole.parquet").returncode == 0
    wanted, found = read_table(parts / "whole.parquet").sort_by("id"), table(parts / "answers").sort_by("id")
    assert wanted["class"].to_pylist() == found["class"].to_pylist()
    np.testing.assert_allclose(wanted["p_fraud"].to_numpy(), found["p_fraud"].to_numpy(), atol=1e-6)
    assert inside("diagnose", "whole", ".").returncode in (0, 1)
    assert gvdn.load_model(parts / "whole").hidden == 5


def test_a_training_that_was_stopped_goes_on_from_its_checkpoint(inside, parts, monkeypatch):
    from gvdn.parts import loop

    calls = []
    step = loop.Trainer.step

    def stopping(self):
        calls.append(self.epoch)
        if calls.count(25) == 1 and self.epoch == 25:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(loop.Trainer, "step", stopping)
    words = ["train", "parts", "-o", "long", "--train", "0.3", *settings(epochs=30, hidden=5)]
    assert inside(*words).returncode == 130
    assert not (parts / "long").exists()
    assert inside(*words).returncode == 0
    assert calls == [*range(26), *range(20, 30)]
    assert [path.name for path in parts.glob(".long*")] == []
    monkeypatch.undo()
    words[words.index("long")] = "straight"
    assert inside(*words).returncode == 0
    for name in ("model.json", "part-0.safetensors", "shared.safetensors"):
        assert (parts / "long" / name).read_bytes() == (parts / "straight" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", ".", "-o", "x", "--workers", "2"], ". is not in parts, so that one worker has all of it"),
        (["train", "parts", "-o", "x", "--workers", "2"], "expected one worker without Ray, got 2; give --engine ray"),
        (["train", "parts", "-o", "x", "--engine", "spark"], "expected one of local, ray as engine, got 'spark'"),
        (["train", "parts", "-o", "x", "--method", "gcn"], "expected the method gvdn for a graph in parts, got gcn"),
        (["train", "parts", "-o", "x", "--relation", "device"], "--relation is not supported for a graph in parts"),
        (["recover", "model", "parts", "-o", "x", "--edges", "e.csv"], "--edges is not supported for a graph in parts"),
        (["recover", "model", "parts", "-o", "x", "--set", "sise=1"], "unknown setting 'sise' of gvdn; known: hidden"),
        (["recover", "model", "parts", "-o", "x", "--set", "epochs=3"], "gvdn reads, got 'epochs'; did you mean 'reco"),
        (["predict", "model", "parts", "-o", "x", "--abstain", "0.9"], "--abstain is not supported"),
        (["predict", "model", ".", "-o", "x.csv"], "model was trained on parts: give it a graph that"),
        (["diagnose", "model", "."], "model was trained on parts"),
        (
            ["update", "model", ".", "-o", "x"],
            "model was trained on parts: make a model of it that needs none with gvdn",
        ),
        (["threshold", "model", "-o", "x"], "model was trained on parts: make a model of it that needs none with gvdn"),
        (
            ["perturb", ".", "--kind", "prbcd", "--model", "model", "-o", "x"],
            "model was trained on parts: make a model",
        ),
        (["diagnose", "model", "parts"], "model stores nothing of the clean graph to compare with"),
        (["diagnose", "model", "parts", "--page", "x"], "--page is not supported for a graph in parts"),
        (["diagnose", "model", "parts", "--address", "h:1"], "expected --output, a folder that all machines"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_sentence(words, sentence, inside, parts):
    done = inside(*words)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert not (parts / "x").exists()


def test_a_damaged_part_is_named_before_the_training(inside, parts):
    path = parts / "parts" / "nodes" / "part=1" / "nodes.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    done = inside("train", "parts", "-o", "x", *FEW)
    assert done.returncode == 2
    assert "nodes/part=1/nodes.parquet: expected" in done.stderr
    assert "the file is truncated" in done.stderr


def test_without_ray_the_sentence_says_what_to_install(inside, parts, monkeypatch):
    monkeypatch.setattr("gvdn.cluster.find_spec", lambda name: None)
    done = inside("train", "parts", "-o", "x", "--engine", "ray", "--workers", "2")
    assert done.returncode == 2
    assert "pip install 'gvdn[cluster]'" in done.stderr
