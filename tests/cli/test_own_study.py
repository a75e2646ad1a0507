"""A study of one's own, as a user goes about it: init, run, show, report; killed and gone on; the graph changed."""

import json
import os
import tomllib

import pytest
from commands import run_inside

from gvdn.study import load_spec

SMALL = "\n[common]\nsettings = { epochs = 3 }\n"


@pytest.fixture
def accounts(tables):
    """The folder accounts, and beside it everything else."""
    (tables / "accounts").mkdir()
    for name in ("nodes.csv", "edges.csv"):
        (tables / name).rename(tables / "accounts" / name)
    return tables


@pytest.fixture
def study(inside, accounts):
    """A spec from `gvdn bench init`, with three epochs and two seeds so that tests are quick."""
    done = inside("bench", "init", "accounts", "--methods", "gcn", "--methods", "mlp")
    assert (done.returncode, done.stderr) == (0, "")
    text = (accounts / "study.toml").read_text()
    (accounts / "study.toml").write_text(text.replace("[0, 1, 2, 3, 4]", "[0, 1]") + SMALL)
    return accounts / "study.toml"


def shown(inside, *words):
    return json.loads(inside("bench", "show", *words, "--json").stdout)


def test_the_spec_that_init_writes_names_my_graph_five_seeds_and_runs_as_it_stands(inside, accounts):
    done = inside("bench", "init", "accounts", "-o", "mine.toml", "--methods", "mlp", "--methods", "snapshot")
    assert (done.returncode, done.stdout) == (0, "written: mine.toml; next: gvdn bench run mine.toml\n")
    content = tomllib.loads((accounts / "mine.toml").read_text())
    assert (content["datasets"], content["methods"]) == (["accounts"], ["mlp", "snapshot"])
    assert content["seeds"] == [0, 1, 2, 3, 4]
    done = inside("bench", "run", "mine.toml", "--seeds", "0")
    assert (done.returncode, done.stderr) == (0, "")
    modes = {(one["method"], one["mode"]) for one in shown(inside, "mine.toml")["means"]}
    assert modes == {
        ("mlp", "evasion"),
        ("mlp", "poisoning"),
        ("mlp", "new"),
        ("snapshot", "evasion"),
        ("snapshot", "new"),
    }


def test_without_methods_init_names_ours_and_four_others_under_two_perturbations(inside, accounts):
    inside("bench", "init", "accounts")
    spec = load_spec(accounts / "study.toml")
    assert [row.method for row in spec.rows] == ["gvdn", "gcn", "rgcn", "mlp", "snapshot"] * 2
    assert spec.reference == "gvdn"
    groups = {row.group: row.perturbation_settings for row in spec.rows}
    assert groups == {"random-connections": {}, "information-sparsity, variant links-only": {"variant": "links-only"}}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["accounts", "-o", "old.toml"], "old.toml is there already; choose another output or give --force"),
        (["accounts", "-o", "study.txt"], "expected a file that ends in .toml, got study.txt"),
        (["acounts"], "expected a graph, got 'acounts': no such file or folder"),
        (["accounts", "--methods", "gvnd"], "unknown method 'gvnd'; did you mean 'gvdn'?"),
        (["accounts", "--perturbations", "nettak"], "unknown perturbation 'nettak'; did you mean 'nettack'?"),
    ],
)
def test_init_refuses_in_one_line_and_writes_nothing(words, sentence, inside, accounts):
    (accounts / "old.toml").write_text("mine")
    done = inside("bench", "init", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr
    assert (accounts / "old.toml").read_text() == "mine"
    assert not (accounts / "study.toml").exists()
    assert inside("bench", "init", "accounts", "-o", "old.toml", "--force").returncode == 0


def test_a_study_is_run_shown_compared_and_drawn_with_the_users_names(inside, study):
    assert inside("bench", "run", "study.toml").returncode == 0
    told = inside("bench", "show", "study.toml").stdout
    for words in (
        "What helps on accounts",
        "random-connections: gcn (evasion)",
        "accounts",
        "gcn (in its best mode) minus",
    ):
        assert words in told
    content = shown(inside, "study.toml")
    assert {one["dataset"] for one in content["means"]} == {"accounts"}
    (first, *_) = content["differences"]
    assert (first["row"], first["minus"], first["seeds"]) == ("gcn", "mlp", 2)
    assert first["low"] <= first["mean"] <= first["high"]
    done = inside("bench", "report", "study.toml", "-o", "page")
    assert (done.returncode, done.stdout) == (0, "written: page/report.html\n")
    page = (study.parent / "page" / "report.html").read_text()
    for words in ("What helps on accounts", "information-sparsity, variant links-only", "mlp", "accounts"):
        assert words in page
    assert str(study.parent) not in page
    assert "GVDN" not in page


def test_the_page_lies_beside_the_spec_unless_asked_for_elsewhere(inside, study):
    inside("bench", "run", "study.toml", "--seeds", "0")
    assert inside("bench", "report", "study.toml").stdout == "written: study.html\n"
    assert inside("bench", "report", "study.toml", "--force").returncode == 0  # a page is drawn again
    (study.parent / "notes.html").write_text("my notes")
    done = inside("bench", "report", "study.toml", "-o", "notes.html")
    assert "the file notes.html is there already; choose another output or give --force" in done.stderr
    assert (study.parent / "notes.html").read_text() == "my notes"


def test_markdown_and_pictures_are_those_of_the_study(inside, study):
    inside("bench", "run", "study.toml")
    done = inside("bench", "report", "study.toml", "--markdown", "--pictures", "pictures")
    assert done.returncode == 0, done.stderr
    assert "|  | evasion | poisoning | new |" in done.stdout
    assert "| random-connections: gcn |" in done.stdout
    assert [path.name for path in (study.parent / "pictures").iterdir()] == ["study.svg"]
    assert not (study.parent / "study.html").exists()


def test_graphs_and_records_lie_where_the_spec_lies_from_wherever_it_is_run(inside, study, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = run_inside(tmp_path / "elsewhere", "bench", "run", "../study.toml", "--seeds", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "runs" / "study.jsonl").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "0 runs in" in inside("bench", "run", "study.toml", "--seeds", "0").stdout


def test_a_study_that_was_moved_with_its_graph_keeps_its_records(inside, study, tmp_path):
    inside("bench", "run", "study.toml", "--seeds", "0")
    (tmp_path / "moved").mkdir()
    for name in ("accounts", "study.toml", "runs"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    assert "0 runs in" in inside("bench", "run", "moved/study.toml", "--seeds", "0").stdout


def test_a_run_that_lost_its_last_lines_goes_on_and_ends_with_the_same_numbers(inside, study):
    inside("bench", "run", "study.toml")
    file = study.parent / "runs" / "study.jsonl"
    whole, lines = shown(inside, "study.toml"), file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:5]) + lines[5][:40])  # as a kill leaves it
    told = " ".join(inside("bench", "run", "study.toml").stdout.split())
    assert told.startswith(
        "runs/study.jsonl ends in the middle of a record; that is cut off, and its run counts as not"
    )
    assert f"{len(lines) - 5} runs in" in told
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == len(lines)  # for other tools, too
    assert "middle of a record" not in inside("bench", "run", "study.toml").stdout
    again = shown(inside, "study.toml")
    assert [_numbers(one) for one in again["means"]] == [_numbers(one) for one in whole["means"]]


def _numbers(mean):
    return {name: value for name, value in mean.items() if name != "seconds"}


def test_a_graph_that_changed_is_measured_anew_and_the_old_numbers_are_not_shown(inside, study):
    inside("bench", "run", "study.toml", "--seeds", "0")
    with (study.parent / "accounts" / "edges.csv").open("a") as edges:
        edges.write("p00,p10\n")
    done = inside("bench", "show", "study.toml")
    assert "no scores of study in runs of accounts as it is now, only of another state of it" in done.stderr
    assert "16 runs in" not in inside("bench", "run", "study.toml", "--seeds", "0").stdout.replace("0 runs", "")
    assert shown(inside, "study.toml")["means"]


def test_a_spec_of_the_paper_is_run_shown_and_drawn_on_a_graph_of_ones_own(inside, accounts):
    words = ["figure4", "--datasets", "accounts"]
    assert inside("bench", "plan", *words, "--json").returncode == 0
    done = inside("bench", "show", *words)
    assert (
        "no scores of figure4 in runs, which does not exist; run gvdn bench run figure4 --datasets accounts"
        in done.stderr
    )
    done = inside("bench", "run", "table3", "--datasets", "accounts", "--methods", "mlp", "--seeds", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "written: runs/table3.jsonl" in done.stdout
    means = shown(inside, "table3", "--datasets", "accounts")["means"]
    assert {(one["method"], one["dataset"]) for one in means} == {("mlp", "accounts")}
    assert inside("bench", "report", "table3", "--datasets", "accounts").stdout == "written: table3.html\n"
    assert "accounts" in (accounts / "table3.html").read_text()


def test_records_that_cannot_be_written_are_refused_before_the_work(inside, study, monkeypatch):
    monkeypatch.setattr("gvdn.bench.run.measure", lambda *words, **more: pytest.fail("measured"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = inside("bench", "run", "study.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot write runs: " in done.stderr


def test_records_that_may_only_be_read_are_refused_before_the_work(inside, study, monkeypatch):
    (study.parent / "runs").mkdir()
    (study.parent / "runs" / "study.jsonl").touch()
    there = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith(".jsonl") and there(path, mode))
    done = inside("bench", "run", "study.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot write runs/study.jsonl: it may only be read; give another folder for the records" in done.stderr


def test_what_a_worker_refuses_is_the_sentence_alone(inside, study):
    no_room = '{ name = "random-connections", victim_fraction = 1.0 }'
    study.write_text(study.read_text().replace('    "random-connections"', f"    {no_room}"))
    done = inside("bench", "run", "study.toml", "--seeds", "0", "--methods", "mlp")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "the first failure: expected at least 29 candidates for 28 victims" in done.stdout
    assert ".py:" not in done.stdout
