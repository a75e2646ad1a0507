"""`--split`: a file, or a kind of split; graphs that bring their own."""

import json

import numpy as np
import pyarrow.csv as pacsv
import pytest
from small_published import platonov_arrays

from gvdn.data import load_graph
from gvdn.graph import temporal_split

QUICK = ("--method", "gcn", "--set", "epochs=2", "--set", "hidden=4")


def parts(path):
    table = pacsv.read_csv(path).to_pydict()
    return {
        part: [one for one, its in zip(table["id"], table["part"], strict=True) if its == part]
        for part in ("train", "val", "test")
    }


def test_nodes_that_have_times_are_split_by_time_unless_another_kind_is_asked_for(inside, tmp_path):
    done = inside("train", "growing", "-o", "model", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "note: the nodes of growing are split by time: Split(1,500 train, 600 val, 900 test)" in done.stdout
    graph = load_graph("growing")
    split = temporal_split(graph)
    assert parts(tmp_path / "model" / "split.csv")["test"] == graph.ids[split.test].tolist()
    done = inside("train", "growing", "--split", "random", "-o", "other", *QUICK)
    assert "split by time" not in done.stdout
    assert len(parts(tmp_path / "other" / "split.csv")["train"]) == 300
    done = inside("train", "growing", "--split", "time", "--train", "0.2", "--val", "0.1", "-o", "short", *QUICK)
    assert "Split(600 train, 300 val, 2,100 test)" in done.stdout
    done = inside("train", "growing", "--train", "0.2", "-o", "drawn", *QUICK)
    assert len(parts(tmp_path / "drawn" / "split.csv")["train"]) == 600


def test_a_published_split_is_used_and_the_seed_chooses_among_several(inside, tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    np.savez(tmp_path / "minesweeper.npz", **platonov_arrays())
    for seed in (0, 3):
        done = inside("train", "minesweeper", "--seed", seed, "-o", f"model-{seed}", *QUICK)
        assert "note: the nodes of minesweeper are split as published: Split(6 train, 3 val, 3 test)" in done.stdout
        expected = np.flatnonzero(platonov_arrays()["test_masks"][seed]).tolist()
        assert parts(tmp_path / f"model-{seed}" / "split.csv")["test"] == expected
    done = inside(
        "perturb", "minesweeper", "--kind", "wrong-links", "--set", "victim_fraction=1", "--seed", "3", "-o", "hurt"
    )
    assert done.returncode == 0, done.stderr
    assert parts(tmp_path / "hurt" / "split.csv") == parts(tmp_path / "model-3" / "split.csv")
    told = json.loads(inside("data", "info", "minesweeper", "--json").stdout)
    assert told["published"] == {"splits": 10, "times": None}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("debian", "--split", "time"), "expected a graph whose nodes have times, got debian, whose nodes have none"),
        (("debian", "--split", "published"), "expected a graph with a published split, got debian, which has none"),
        (("growing", "--split", "tme.csv"), "could not read the split tme.csv: there is no such file"),
    ],
)
def test_a_split_that_the_graph_does_not_have_is_a_sentence(inside, words, sentence):
    done = inside("train", *words, "-o", "model", *QUICK)
    assert (done.returncode, sentence in done.stderr) == (2, True)


def test_a_study_may_name_the_kind_of_split(inside, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\ndatasets = ["growing"]\nseeds = [0]\n'
        '[common]\nmethod = "gcn"\nperturbation = "none"\nmodes = ["clean"]\nsettings = { epochs = 2, hidden = 4 }\n'
        '[[row]]\n[[row]]\nsplit = { kind = "random" }\n'
    )
    done = inside("bench", "run", "mine.toml", "--records", "records")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "records" / "mine.jsonl").read_text().splitlines()]
    assert {json.dumps(line["cell"].get("split")): line["nodes"] for line in lines} == {
        "null": 900,
        '{"kind": "random"}': 2100,
    }


def test_data_info_says_what_came_with_a_graph(inside):
    assert "0 splits, times 0 to 29" in inside("data", "info", "growing").stdout
    assert json.loads(inside("data", "info", "debian", "--json").stdout)["published"] is None
    assert "generated when it is loaded" in json.dumps(json.loads(inside("data", "list", "--json").stdout))
