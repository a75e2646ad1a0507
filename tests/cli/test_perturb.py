import json

import pytest

from gvdn.data import load_graph


def test_a_perturbed_graph_is_written_with_its_receipt_and_replays(gvdn):
    first = gvdn("perturb", "debian", "--kind", "rdmPert", "--seed", "3", "-o", "out", "--set", "rate=0.05", "--json")
    summary = json.loads(first.stdout)
    assert (summary["kind"], summary["settings"]["rate"], summary["seed"]) == ("random-connections", 0.05, 3)
    assert summary["edges_added"] == summary["perturbators"] * 20
    again = json.loads(gvdn("replay", "debian", "out", "-o", "again", "--json").stdout)
    assert again["perturbed_hash"] == summary["perturbed_hash"]


def test_the_output_is_a_graph_that_loads(gvdn, tmp_path):
    done = gvdn("perturb", "debian", "--kind", "information-sparsity", "-o", "out", "--set", "variant=links-only")
    assert done.returncode == 0, done.stderr
    assert "-12,272" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "changes.npz",
        "graph.npz",
        "manifest.json",
        "split.csv",
    ]
    assert load_graph(tmp_path / "out").num_edges == load_graph("debian").num_edges - 12_272


def test_an_existing_output_is_kept_unless_forced(gvdn):
    words = ("perturb", "debian", "--kind", "label-noise", "-o", "out")
    assert gvdn(*words).returncode == 0
    assert "is not empty" in gvdn(*words).stderr
    assert gvdn(*words, "--force").returncode == 0


def test_replay_on_another_graph_is_refused_and_writes_nothing(gvdn, tmp_path):
    gvdn("perturb", "debian", "--kind", "label-noise", "-o", "out")
    done = gvdn("replay", "debian-large", "out", "-o", "again")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "belongs to the graph debian with hash" in done.stderr
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kind", "earthquake"], "unknown perturbation 'earthquake'"),
        (["--kind", "label-noise", "--set", "ratio"], "expected --set KEY=VALUE, got 'ratio'"),
        (
            ["--kind", "label-noise", "--set", "ration=1"],
            "unknown setting 'ration' of label-noise; did you mean 'ratio'",
        ),
        (["--kind", "label-noise", "--set", "ratio=high"], "expected a number for ratio of label-noise, got 'high'"),
        (["--kind", "label-noise", "--set", "ratio=2"], "expected ratio between 0 and 1, got 2"),
        (["--kind", "label-noise", "--split", "none.csv"], "could not read the split none.csv"),
    ],
)
def test_a_mistake_leaves_no_output(gvdn, words, sentence, tmp_path):
    done = gvdn("perturb", "debian", "-o", "out", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
