"""Drafts of runs that were killed, which a test makes by killing a process in the middle."""

import os
import signal
import subprocess
import sys

import pytest

from gvdn.files import progress_file, tidy, whole_file, whole_folder

HOLD = """
import os, sys, time
from pathlib import Path
from gvdn import drafts
from gvdn.files import whole_file, whole_folder

how, path = sys.argv[1], Path(sys.argv[2])

def stop(*_):
    print("here", flush=True)
    time.sleep(600)

if how == "between the renames":
    real = Path.replace
    Path.replace = stop
if how == "before the old one is deleted":
    drafts._delete = stop
if how == "while the old one is deleted":
    real = os.unlink
    os.unlink = lambda name, **at: stop() if os.fspath(name).endswith("z") else real(name, **at)
if how == "a file":
    with whole_file(path) as draft:
        draft.write_text("half")
        stop()
with whole_folder(path, force=True) as draft:
    for name in ("model.json", "z"):
        (draft / name).write_text("new")
    if how == "a folder":
        stop()
"""
MOMENTS = ["a folder", "between the renames", "before the old one is deleted", "while the old one is deleted"]


@pytest.fixture
def hold():
    """Starts a process that writes an output and stops at a moment; it is killed at the end, if not before."""
    started = []

    def start(how, path):
        words = [sys.executable, "-c", HOLD, how, str(path)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "here\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(30)
        process.stdout.close()


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait(30)


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("model.json", "z"):
        (folder / name).write_text("old")
    return folder


def drafts_in(folder):
    return sorted(folder.glob(".*.draft-*"))


def content(folder):
    return [(path.name, path.read_text()) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("how", MOMENTS)
def test_old_or_new_is_whole_after_a_kill_and_nothing_else_is_left(hold, out, how):
    killed(hold(how, out))
    assert len(drafts_in(out.parent)) == 1
    tidy(out)
    word = "old" if how in MOMENTS[:2] else "new"
    assert content(out) == [("model.json", word), ("z", word)]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_half_deleted_old_folder_is_never_put_back(hold, out):
    killed(hold("while the old one is deleted", out))
    for path in out.iterdir():
        path.unlink()
    out.rmdir()  # by the user
    tidy(out)
    assert list(out.parent.iterdir()) == []


def test_the_next_run_sweeps_and_replaces(hold, out):
    killed(hold("between the renames", out))
    assert not out.exists()
    with whole_folder(out, force=True) as draft:
        (draft / "model.json").write_text("third")
    assert content(out) == [("model.json", "third")]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("how", MOMENTS)
def test_the_draft_of_a_process_that_lives_is_left_alone(hold, out, how):
    process = hold(how, out)
    before = sorted(str(path) for path in out.parent.rglob("*"))
    tidy(out)
    assert sorted(str(path) for path in out.parent.rglob("*")) == before
    killed(process)
    tidy(out)
    assert drafts_in(out.parent) == []


def test_the_drafts_of_a_file_and_of_progress_are_swept_too(hold, tmp_path):
    progress, other = progress_file(tmp_path / "out", "run"), tmp_path / "other.csv"
    for path in (progress, other):
        killed(hold("a file", path))
    assert len(drafts_in(tmp_path)) == 2
    tidy(tmp_path / "out")
    assert [path.name[:10] for path in drafts_in(tmp_path)] == [".other.csv"], "that of another output stays"
    with whole_file(other) as draft:
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_a_draft_that_was_killed_before_it_was_locked_is_swept(tmp_path):
    (tmp_path / ".out.draft-00000000").mkdir()
    (tmp_path / ".out.draft-mine").mkdir()
    tidy(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [".out.draft-mine"]


def test_two_runs_with_one_output_do_not_disturb_each_other(tmp_path):
    outer = whole_file(tmp_path / "a.txt")
    with outer as first:
        first.write_text("first")
        with whole_file(tmp_path / "a.txt") as second:
            second.write_text("second")
        assert first.read_text() == "first"
    assert (tmp_path / "a.txt").read_text() == "first"
    assert os.listdir(tmp_path) == ["a.txt"]
