"""Outputs of commands: refused before the work, never replaced unasked, one sentence when the disk becomes full."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
from commands import settings

from gvdn.files import progress_files

QUICK = settings(epochs=3, hidden=4)
SPEC = """
title = "mine"
datasets = ["."]
seeds = [0]

[[row]]
method = "mlp"
settings = { epochs = 3, hidden = 4 }
modes = ["evasion"]
perturbation = "nettack"
perturbation_settings = { link_flips = 1, feature_flips = 1 }
"""


@pytest.fixture
def model(trained):
    return trained("gcn")


@pytest.fixture
def commands(tables, inside, model):
    """Every command that writes, by its output."""
    (tables / "mine.toml").write_text(SPEC)
    made = inside("perturb", ".", "--kind", "label-noise", "-o", "receipt")
    assert made.returncode == 0, made.stderr
    (tables / "records").mkdir()
    return {
        "new": {
            "train": ("train", ".", "-o", "new", *QUICK),
            "recover": ("recover", model, ".", "-o", "new"),
            "perturb": ("perturb", ".", "--kind", "label-noise", "-o", "new"),
            "replay": ("replay", ".", "receipt", "-o", "new"),
        },
        "new.csv": {
            "predict": ("predict", model, ".", "-o", "new.csv"),
            "embed": ("embed", model, ".", "-o", "new.csv"),
        },
        "new.html": {"report": ("bench", "report", "mine.toml", "--records", "records", "-o", "new.html")},
        "new/report.html": {"demo": ("demo", "--quick", "-o", "new")},
        "records": {"bench": ("bench", "run", "mine.toml", "--records", "records")},
    }


@pytest.fixture
def _no_work(commands, monkeypatch):
    """Nothing is read or computed before the refusal."""

    def work(*_, **__):
        raise AssertionError("the work began")

    others = ("methods.files.load_model", "perturbations.load_receipt", "reports.page.write_study", "data.load_graph")
    for name in ("bench.run.run_tasks", "bench.demo.run_in_process", *others):  # bench first: it imports the others
        monkeypatch.setattr(f"gvdn.{name}", work)


def refusals(inside, commands, *kinds):
    for output in kinds or commands:
        for name, words in commands[output].items():
            done = inside(*words)
            assert (done.returncode, done.stdout) == (2, ""), name
            assert done.stderr.count("\n") == 1, done.stderr
            yield name, done.stderr


@pytest.mark.usefixtures("_no_work")
def test_an_output_that_is_there_is_refused_before_the_work(inside, commands, tables):
    (tables / "new").mkdir()
    for name in ("new.csv", "new.html", "new/report.html"):
        (tables / name).write_text("precious")
    said = dict(refusals(inside, commands, "new", "new.csv", "new.html", "new/report.html"))
    assert len(said) == 8
    for name, sentence in said.items():
        assert "give --force to replace it" in sentence, name
    for name in ("new.csv", "new.html", "new/report.html"):
        assert (tables / name).read_text() == "precious"


@pytest.mark.usefixtures("_no_work")
def test_a_symbolic_link_is_refused_before_the_work(inside, commands, tables):
    for name in ("new", "new.csv", "new.html"):
        (tables / name).symlink_to("elsewhere")
    said = dict(refusals(inside, commands, "new", "new.csv", "new.html"))
    assert len(said) == 7
    assert all("is a symbolic link to elsewhere" in sentence for sentence in said.values())


@pytest.mark.usefixtures("_no_work")
def test_a_disk_that_is_nearly_full_is_said_before_the_work(inside, commands, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    said = dict(refusals(inside, commands))
    assert len(said) == 9
    assert all("expected at least 16 MiB of free disk space" in sentence for sentence in said.values())


@pytest.mark.usefixtures("_no_work")
def test_a_folder_that_may_not_be_written_into_is_said_before_the_work(inside, commands, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    said = dict(refusals(inside, commands))
    assert len(said) == 9
    assert all("is no folder that may be written into" in sentence for sentence in said.values())


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_a_table_is_replaced_only_by_force(inside, tables, model, command):
    (tables / "answers.csv").write_text("precious")
    words = (command, model, ".", "-o", "answers.csv")
    assert "answers.csv is there already" in inside(*words).stderr
    assert (tables / "answers.csv").read_text() == "precious"
    assert inside(*words, "--force").returncode == 0
    assert (tables / "answers.csv").read_text().startswith('"id"')


def test_a_model_too_large_for_the_disk_is_refused_before_the_training(inside, tables, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100 * 2**20))
    monkeypatch.setattr("gvdn.methods.base.train", lambda *_, **__: pytest.fail("the training began"))
    done = inside("train", ".", "-o", "new", *settings(hidden=200_000))
    assert done.returncode == 2
    assert "expected at least 176 MiB of free disk space for new, got 100 MiB" in done.stderr


# ---- a disk that becomes full


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", ["train", "recover", "perturb", "replay", "predict", "embed", "bench"])
def test_a_disk_that_becomes_full_is_one_sentence(inside, commands, monkeypatch, trained, tables, name):
    words = {name: words for some in commands.values() for name, words in some.items()}[name]
    if name == "recover":
        words = ("recover", trained("gvdn"), *words[2:])
    before = sorted(path.name for path in tables.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    done = inside(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "the disk became full while" in done.stderr
    assert "make room and run the same command again" in done.stderr
    assert sorted(path.name for path in tables.iterdir()) == before


def test_a_full_disk_in_a_worker_is_no_failure_of_its_run(inside, commands, monkeypatch, tables):
    monkeypatch.setattr("gvdn.bench.perturbed.write_npz", full)
    (words,) = commands["records"].values()
    done = inside(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "the disk became full while" in done.stderr
    assert not (tables / "records" / "mine.jsonl").exists()
    monkeypatch.undo()
    assert inside(*words).returncode == 0, "with room the same command runs it"


# ---- progress


def stopping(monkeypatch, where: str, after: int):
    @contextmanager
    def bar(*_):
        def move(done, *_):
            if done == after:
                raise KeyboardInterrupt

        yield move

    monkeypatch.setattr(where, bar)


def test_the_progress_of_a_stopped_run_goes_when_another_seed_finishes_there(inside, tables, monkeypatch):
    words = ("train", ".", "-o", "new", *settings(hidden=4, epochs=25))
    stopping(monkeypatch, "gvdn.cli.model.progress", 22)
    assert inside(*words).returncode == 130
    assert len(progress_files(tables / "new")) == 1
    monkeypatch.undo()
    assert inside(*words, "--seed", "1").returncode == 0
    assert [path.name for path in tables.iterdir() if path.name.startswith(".")] == []


def test_a_forced_run_that_was_stopped_goes_on_and_the_old_output_stays_until_then(inside, tables, monkeypatch):
    assert inside("train", ".", "-o", "new", *QUICK).returncode == 0
    old = (tables / "new" / "model.json").read_text()
    words = ("train", ".", "-o", "new", *settings(hidden=4, epochs=25), "--force")
    stopping(monkeypatch, "gvdn.cli.model.progress", 22)
    assert inside(*words).returncode == 130
    assert (tables / "new" / "model.json").read_text() == old
    assert inside(*words[:-1]).returncode == 2, "refused without --force"
    assert len(progress_files(tables / "new")) == 1, "and what was done is kept"
    seen: list[int] = []
    monkeypatch.setattr("gvdn.cli.model.progress", lambda *_: nullcontext(lambda done, losses: seen.append(done)))
    assert inside(*words).returncode == 0
    assert seen == [21, 22, 23, 24, 25]
    assert not progress_files(tables / "new")


def test_a_stopped_prbcd_is_one_sentence(tables, model):
    words = ["perturb", ".", "--kind", "prbcd", "--model", model, "-o", "hurt", *settings(epochs=100_000)]
    program = (
        "import sys, gvdn.perturbations, gvdn.cli.app as app\n"
        "search = sys.modules['gvdn.perturbations.prbcd.search'].Search\n"
        "flip = search.relaxed\n"
        "search.relaxed = lambda *given: (print('here', flush=True), flip(*given))[1]\n"
        "app.main()"
    )
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        cwd=tables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, ours)
    assert process.stdout.readline() == "here\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.count("\n")) == (130, 1), errors
    assert "stopped" in errors
    assert not (tables / "hurt").exists()
