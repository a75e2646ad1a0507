import json
import re
from contextlib import contextmanager

import numpy as np
import pytest
from commands import settings

from gvdn.data import load_graph
from gvdn.graph import Split
from gvdn.perturbations import load_receipt


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
    assert "-12,133" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "changes.npz",
        "graph.npz",
        "manifest.json",
        "split.csv",
    ]
    assert load_graph(tmp_path / "out").num_edges == load_graph("debian").num_edges - 12_133


def test_an_existing_output_is_kept_unless_forced(gvdn):
    words = ("perturb", "debian", "--kind", "label-noise", "-o", "out")
    assert gvdn(*words).returncode == 0
    assert "is not empty" in gvdn(*words).stderr
    assert gvdn(*words, "--force").returncode == 0


def test_replay_on_another_graph_is_refused_and_writes_nothing(gvdn, tmp_path):
    gvdn("perturb", "debian", "--kind", "label-noise", "-o", "out")
    done = gvdn("replay", "debian-large", "out", "-o", "again")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "expected the graph debian with hash" in done.stderr
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
        (["--kind", "label-noise", "--set", "ratio=2"], "expected ratio of label-noise from 0 to 1, got 2"),
        (["--kind", "label-noise", "--split", "none.csv"], "could not read the split none.csv"),
    ],
)
def test_a_mistake_leaves_no_output(gvdn, words, sentence, tmp_path):
    done = gvdn("perturb", "debian", "-o", "out", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["wrong-links", "node-injection", "natural-churn"])
@pytest.mark.parametrize("format", ["npz", "csv"])
def test_what_trust_is_measured_with_is_written_replays_and_is_printed(inside, tables, kind, format):
    words = ("perturb", ".", "--kind", kind, *settings(**({} if kind == "natural-churn" else {"links": 2})))
    done = inside(*words, "-o", "hurt", "--json", "--format", format)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    clean, hurt = load_graph(tables), load_graph(tables / "hurt")
    assert summary["perturbed_hash"] == hurt.hash != clean.hash
    assert hurt.num_nodes == clean.num_nodes + summary["nodes_added"]
    assert summary["nodes_added"] == (2 if kind == "node-injection" else 0)
    again = json.loads(inside("replay", ".", "hurt", "-o", "again", "--json", "--format", format).stdout)
    assert again["perturbed_hash"] == load_graph(tables / "again").hash == hurt.hash
    printed = " ".join(inside(*words, "-o", "printed").stdout.split())
    assert f"nodes {clean.num_nodes} {hurt.num_nodes} edges {clean.num_edges} {hurt.num_edges}" in printed


def test_a_graph_with_injected_nodes_goes_through_every_command(inside, tables, trained):
    """A model of the clean graph is asked about, diagnoses and recovers on the larger one; its split still serves."""
    words = ("perturb", ".", "--kind", "node-injection", *settings(victim_fraction=0.5), "-o", "hurt")
    assert inside(*words).returncode == 0
    model = trained("gvdn")
    for command in (
        ("recover", model, "hurt", "-o", "healed"),
        ("predict", "healed", "hurt", "-o", "answers.csv"),
        ("diagnose", model, "hurt", "-o", "diagnosis"),
        ("embed", model, "hurt", "-o", "embedded.csv"),
        ("train", "hurt", "--split", "hurt/split.csv", "-o", "poisoned", *settings(hidden=4, epochs=3)),
    ):
        done = inside(*command)
        assert done.returncode == 0, (command, done.stderr)
    lines = (tables / "answers.csv").read_text().splitlines()
    assert len(lines) - 1 == load_graph(tables / "hurt").num_nodes
    assert sum(line.strip('"').startswith("injected-") for line in lines) == len(
        load_receipt(tables / "hurt").perturbators
    )


# ---- attacks with a surrogate of their own


@pytest.mark.parametrize("kind", ["metattack", "dice"])
def test_an_attack_with_its_own_surrogate_needs_no_model_and_goes_by_the_split(inside, tables, kind):
    few = settings(inner_steps=5) if kind == "metattack" else []
    words = ("perturb", ".", "--kind", kind, *settings(edge_fraction=0.2), *few)
    done = inside(*words, "-o", "hurt", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["perturbed_hash"] == load_graph(tables / "hurt").hash != load_graph(tables).hash
    again = json.loads(inside("replay", ".", "hurt", "-o", "again", "--json").stdout)
    assert again["perturbed_hash"] == summary["perturbed_hash"]
    same = json.loads(inside(*words, "--split", "hurt/split.csv", "-o", "same", "--json").stdout)
    assert same["perturbed_hash"] == summary["perturbed_hash"]


# ---- attacks through a model

NETTACK = ["--kind", "nettack", *settings(degree_test="false", feature_flips=1)]
PRBCD = ["--kind", "prbcd", *settings(epochs=6, block_size=200, flips_per_victim=3)]
GRBCD = ["--kind", "grbcd", *PRBCD[2:]]


@pytest.fixture
def surrogate(trained):
    return trained("gcn", linear="true", epochs=30)


def victims_in(folder) -> list[int]:
    return load_receipt(folder).victims.tolist()


def test_nettack_as_a_user_would(gvdn, tables):
    small = settings(linear="true", hidden=8, epochs=10)
    assert gvdn("train", ".", "-o", "model", "--method", "gcn", *small).returncode == 0
    words = ("perturb", ".", *NETTACK, "--model", "model", "--split", "model/split.csv", "-o", "hurt", "--json")
    done = gvdn(*words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["kind"], summary["settings"]["link_flips"]) == ("nettack", 2)
    again = gvdn("replay", ".", "hurt", "-o", "again", "--json")
    assert json.loads(again.stdout)["perturbed_hash"] == summary["perturbed_hash"]


@pytest.mark.parametrize("attack", [NETTACK, PRBCD, GRBCD], ids=["nettack", "prbcd", "grbcd"])
@pytest.mark.parametrize("word", ["gcn", "gvdn"])
def test_an_attack_on_named_victims_replays_to_the_identical_graph(inside, tables, trained, attack, word):
    (tables / "victims.csv").write_text("id\np31\np03\n")
    words = ["perturb", ".", *attack, "--model", trained(word), "--victims", "victims.csv", "--json"]
    done = inside(*words, "-o", "hurt")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    clean, hurt = load_graph(tables), load_graph(tables / "hurt")
    assert summary["perturbed_hash"] == hurt.hash != clean.hash
    assert clean.ids[victims_in(tables / "hurt")].tolist() == ["p03", "p31"]
    assert summary["settings"]["victims_given"] is True
    replayed = json.loads(inside("replay", ".", "hurt", "-o", "again", "--json").stdout)
    assert replayed["perturbed_hash"] == load_graph(tables / "again").hash == hurt.hash
    assert json.loads(inside(*words, "-o", "twice").stdout)["perturbed_hash"] == hurt.hash


def test_nettack_flips_what_it_was_allowed_to_and_nothing_else(inside, tables, surrogate):
    (tables / "victims.csv").write_text("id\np07\n")
    words = ["perturb", ".", *NETTACK, "--model", surrogate, "--victims", "victims.csv", "-o", "hurt"]
    assert inside(*words).returncode == 0
    clean, hurt = load_graph(tables), load_graph(tables / "hurt")
    flipped = (clean.adjacency != hurt.adjacency).tocoo()
    assert flipped.nnz == 4  # two links, both ways
    assert all(7 in ends for ends in zip(flipped.row.tolist(), flipped.col.tolist(), strict=True))
    changed = np.argwhere(np.asarray(clean.features) != np.asarray(hurt.features))
    assert len(changed) <= 1
    assert set(changed[:, 0].tolist()) <= {7}


def test_without_names_the_victims_are_test_nodes(inside, tables, surrogate):
    words = ["perturb", ".", *NETTACK, "--model", surrogate, "--split", surrogate / "split.csv", "-o", "hurt"]
    assert inside(*words, *settings(victim_fraction=0.5)).returncode == 0
    graph = load_graph(tables)
    test = Split.load(surrogate / "split.csv", graph).test
    assert len(victims_in(tables / "hurt")) == int(len(test) * 0.5 + 0.5)
    assert set(victims_in(tables / "hurt")) <= set(test.tolist())


def test_the_receipt_of_an_attack_tells_two_models_apart(inside, tables, trained):
    said = set()
    for number, model in enumerate((trained("gcn"), trained("gcn", epochs=9), trained("gvdn"))):
        for attack, key in ((NETTACK, "surrogate"), (PRBCD, "model")):
            words = ["perturb", ".", *attack, "--model", model, "-o", f"{key}{number}", "--json"]
            said.add(json.loads(inside(*words).stdout)["settings"][key])
    assert len(said) == 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kind", "nettack"], "nettack attacks a model; give --model MODEL"),
        (["--kind", "prbcd"], "prbcd attacks a model; give --model MODEL"),
        (["--kind", "grbcd"], "grbcd attacks a model; give --model MODEL"),
        (["--kind", "metattack", "--model", "{gcn}"], "--model is not supported by metattack; leave it out"),
        (["--kind", "dice", "--set", "train=3"], "train is no setting of dice; give it by an option of its own"),
        (["--kind", "label-noise", "--model", "{gcn}"], "--model is not supported by label-noise; leave it out"),
        (["--kind", "label-noise", "--victims", "v.csv"], "--victims is not supported by label-noise; leave it out"),
        ([*NETTACK, "--model", "nowhere"], "there is no model in nowhere"),
        ([*NETTACK, "--model", "{grand}"], "expected a gcn or gvdn as the surrogate of nettack, got grand"),
        ([*PRBCD, "--model", "{mlp}"], "to attack along the gradient into links, got mlp: it reads no links"),
        ([*NETTACK, "--model", "{gat}"], "got gcn: its aggregator is gat, and only gcn is differentiated"),
        ([*NETTACK, "--model", "{gcn}", "--victims", "v.csv"], " has no node q99; give ids of its nodes"),
        ([*PRBCD, "--model", "{gcn}", "--victims", "v.csv"], " has no node q99; give ids of its nodes"),
        ([*NETTACK, "--model", "{gcn}", "--victims", "none.csv"], "none.csv"),
        ([*NETTACK, "--model", "{gcn}", "--victims", "nodes-without.csv"], "expected the column id"),
        (
            [*NETTACK, "--model", "{gcn}", "--victims", "empty.csv"],
            "the column id is empty; expected at least one node",
        ),
        # What is checked without the model and the graph is said before either is read, and of victims before the rest.
        ([*NETTACK, "--model", "nowhere", "--victims", "none.csv"], "there is no file none.csv"),
        ([*NETTACK, "--model", "nowhere", "--victims", "nodes-without.csv"], "expected the column id"),
        ([*NETTACK, "--model", "nowhere", "--set", "flips=2"], "unknown setting 'flips' of nettack; did you mean"),
        ([*NETTACK, "--model", "{grand}", "--victims", "v.csv", "--split", "none.csv"], " has no node q99; give ids"),
        ([*NETTACK, "--model", "{gcn}", "--set", "link_flips=40"], "expected link_flips from 0 to 39"),
        ([*NETTACK, "--model", "{gcn}", "--set", "feature_flips=3"], "expected feature_flips from 0 to 2"),
        ([*NETTACK, "--model", "{gcn}", "--set", "surrogate=3"], "surrogate"),
        ([*PRBCD, "--model", "{gcn}", "--set", "flips_per_victim=500"], "expected a budget of 1 to 390 flips"),
        ([*PRBCD, "--model", "{gcn}", "--set", "block_size=2"], "expected block_size above the budget of 3 flips"),
        ([*PRBCD, "--model", "{gcn}", "--set", "epochs=1"], "expected epochs of prbcd at least 2, got 1"),
        ([*PRBCD, "--model", "{gcn}", "--set", "victims=3"], "victims"),
    ],
)
def test_a_mistake_about_an_attack_is_one_line_and_leaves_nothing(inside, tables, trained, words, sentence):
    (tables / "v.csv").write_text("id\np01\nq99\n")
    (tables / "nodes-without.csv").write_text("name\np01\n")
    (tables / "empty.csv").write_text('id,name\n"",a\n')
    before = sorted(path.name for path in tables.iterdir())
    filled = [re.sub(r"\{(.*)\}", lambda found: str(trained(found[1])), word) for word in words]
    done = inside("perturb", ".", "-o", "out", *filled)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tables.iterdir()) == before


def test_features_that_are_not_shares_cannot_be_flipped(inside, tables, trained):
    (tables / "nodes.csv").write_text((tables / "nodes.csv").read_text().replace("left,1,", "left,2,"))
    done = inside("perturb", ".", *NETTACK, "--model", trained("gcn"), "-o", "out")
    assert (done.returncode, done.stderr.count("\n"), (tables / "out").exists()) == (2, 1, False)
    assert "2" in done.stderr
    assert (
        inside("perturb", ".", *NETTACK, *settings(feature_flips=0), "--model", trained("gcn"), "-o", "out").returncode
        == 0
    )


def test_a_model_of_other_columns_is_refused(inside, tables, trained):
    model, nodes = trained("gcn"), (tables / "nodes.csv").read_text()
    (tables / "nodes.csv").write_text(nodes.replace("id,label,x,y", "id,label,x,z"))
    for attack in (NETTACK, PRBCD):
        done = inside("perturb", ".", *attack, "--model", model, "-o", "out")
        assert "expected the column 'y', which was there" in done.stderr
        assert (done.returncode, done.stderr.count("\n"), (tables / "out").exists()) == (2, 1, False)


def test_a_stopped_nettack_goes_on_unless_another_attack_has_finished_there(inside, tables, surrogate, monkeypatch):
    everybody = ["perturb", ".", *NETTACK, "--model", surrogate, "-o", "hurt"]
    (tables / "all.csv").write_text("id\n" + "".join(f"p{number:02d}\n" for number in range(40)))
    (tables / "few.csv").write_text("id\np01\np02\n")
    seen: list[int] = []

    def counting(stop_after: int):
        @contextmanager
        def bar(title):
            def move(done, of):
                seen.append(done)
                if done == stop_after:
                    raise KeyboardInterrupt

            yield move

        return bar

    def stopped(*more):
        monkeypatch.setattr("gvdn.cli.perturb.counting", counting(25))
        assert inside(*everybody, "--victims", "all.csv", *more).returncode == 130
        assert len(list(tables.glob(".hurt*"))) == 1
        monkeypatch.setattr("gvdn.cli.perturb.counting", counting(0))
        seen.clear()

    stopped()
    other = inside(*everybody, "--victims", "few.csv")
    assert other.returncode == 0, other.stderr
    assert not list(tables.glob(".hurt*"))
    stopped("--force")
    assert inside(*everybody, "--victims", "all.csv", "--force").returncode == 0
    assert seen == list(range(21, 41))
    assert not list(tables.glob(".hurt*"))
    monkeypatch.undo()
    whole = [*everybody[:-1], "whole"]
    assert inside(*whole, "--victims", "all.csv").returncode == 0
    assert load_graph(tables / "whole").hash == load_graph(tables / "hurt").hash
