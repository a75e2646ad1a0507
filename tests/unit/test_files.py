import errno
import os
import shutil
from types import SimpleNamespace

import pytest

from gvdn import files
from gvdn.errors import InvalidInput
from gvdn.files import (
    DiskFull,
    Occupied,
    drop_progress,
    progress_file,
    progress_files,
    require_output,
    tidy,
    whole_file,
    whole_folder,
)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def model(tmp_path):
    """A folder that gvdn wrote."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.json").write_text("old")
    return tmp_path / "out"


# ---- written whole or not at all


def test_a_failed_file_leaves_the_old_one(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


def test_a_failed_folder_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out") as draft:
        (draft / "x").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_failed_replacement_leaves_the_old_folder(model, tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder(model, force=True) as draft:
        (draft / "model.json").write_text("half")
        raise KeyboardInterrupt
    assert (names(tmp_path), (model / "model.json").read_text()) == (["out"], "old")


def test_a_full_folder_is_replaced_only_by_force_and_only_if_it_is_ours(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"), whole_folder(out):
        pass
    with pytest.raises(InvalidInput, match="was not written by gvdn"), whole_folder(out, force=True):
        pass
    assert (out / "precious.txt").read_text() == "mine"
    (out / "manifest.json").write_text("{}")
    with whole_folder(out, force=True) as draft:
        (draft / "new").write_text("new")
    assert (names(out), names(tmp_path)) == (["new"], ["out"])


def test_a_folder_that_appeared_in_the_meantime_is_not_replaced(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(Occupied, match="is not empty"), whole_folder(out) as draft:
        (draft / "model.json").write_text("mine")
        out.mkdir()
        (out / "model.json").write_text("another's")
    assert (names(tmp_path), (out / "model.json").read_text()) == (["out"], "another's")


def test_a_folder_is_never_replaced_by_a_file(model, tmp_path):
    with pytest.raises(IsADirectoryError), whole_file(model) as draft:
        draft.write_text("a file")
    assert (names(tmp_path), names(model)) == (["out"], ["model.json"])


def test_files_and_folders_inside_of_a_draft_become_a_part_of_it(tmp_path):
    out = tmp_path / "out"
    with whole_folder(out) as draft:
        with whole_folder(draft) as same, whole_file(same / "deep" / "a.txt") as file:
            file.write_text("a")
        assert not out.exists()
    assert (out / "deep" / "a.txt").read_text() == "a"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["lock", "old", "gone", "draft", "a.draft-00000000", "a [b]*.x"])
def test_any_name_will_do(tmp_path, name):
    for text in ("first", "second"):
        with whole_folder(tmp_path / name, force=True) as draft:
            (draft / "model.json").write_text(text)
    assert ((tmp_path / name / "model.json").read_text(), names(tmp_path)) == ("second", [name])


def test_everybody_may_read_what_the_umask_lets_them(tmp_path):
    def private(path):
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:  # as safetensors does
            file.write("x")

    before = os.umask(0o022)
    try:
        with whole_folder(tmp_path / "out") as draft:
            private(draft / "weights")
        with whole_file(tmp_path / "a.txt") as file:
            private(file)
    finally:
        os.umask(before)
    modes = [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "a.txt", tmp_path / "out" / "weights")]
    assert modes == ["0o644", "0o644"]


def test_content_is_on_the_disk_before_it_is_renamed_and_the_folder_after(tmp_path, monkeypatch):
    done = []
    real = os.fsync

    def sync(descriptor):
        done.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        done.append((tmp_path / "out" / "a").exists())
        real(descriptor)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("only Linux tells the names of open files")
    monkeypatch.setattr(os, "fsync", sync)
    with whole_folder(tmp_path / "out") as draft:
        (draft / "a").mkdir()
        (draft / "a" / "b.txt").write_text("b")
    assert done == ["b.txt", False, "a", False, "draft", False, tmp_path.name, True]


# ---- progress


def test_progress_older_than_the_output_goes_and_newer_progress_stays(model, tmp_path):
    ours, other = progress_file(model, "seed 0"), progress_file(model, "seed 1")
    for file, moment in ((ours, 1_000), (other, 3_000)):
        file.write_text("x")
        os.utime(file, (moment, moment))
    os.utime(model, (2_000, 2_000))
    assert len(progress_files(model)) == 2
    tidy(model)
    assert progress_files(model) == [other], "a run with --force that was stopped goes on from it"
    (model / "model.json").unlink()
    os.utime(model, (4_000, 4_000))
    tidy(model)
    assert progress_files(model) == [other], "an empty folder is no result"
    drop_progress(model)
    assert names(tmp_path) == ["out"]


def test_progress_of_another_output_is_left_alone(model, tmp_path):
    others = [progress_file(tmp_path / name, "run") for name in ("out2", "ou", "out-1")]
    for file in others:
        file.write_text("x")
    drop_progress(model)
    assert sorted(others) == sorted(path for path in tmp_path.iterdir() if path != model)


# ---- refused before the work


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InvalidInput, match="expected a folder to write into"), whole_folder(tmp_path / "out"):
        pass
    with pytest.raises(InvalidInput, match="expected a file to write into, got the folder"):
        require_output(tmp_path, "file", force=True)
    with pytest.raises(InvalidInput, match="is no folder that may be written into"):
        require_output(tmp_path / "out" / "more", "folder")


def test_a_file_is_replaced_only_by_force(tmp_path):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(Occupied, match=r"a\.csv is there already; choose another output or give --force"):
        require_output(tmp_path / "a.csv", "file")
    require_output(tmp_path / "a.csv", "file", force=True)


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_symbolic_link_is_not_written_through(tmp_path, target):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(target)
    for kind in ("folder", "file"):
        with pytest.raises(InvalidInput, match=f"out is a symbolic link to {target}; give that path itself"):
            require_output(tmp_path / "out", kind, force=True)
    (tmp_path / "elsewhere" / "records").mkdir()
    require_output(tmp_path / "elsewhere" / "records", "shared folder")


@pytest.mark.parametrize("kind", ["folder", "file", "shared folder"])
def test_a_folder_that_may_not_be_written_into_is_named(model, monkeypatch, kind):
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != os.fspath(model))  # root may write anywhere
    path = model if kind == "shared folder" else model / "new"
    with pytest.raises(InvalidInput, match=f"cannot write {path}: {model} is no folder that may be written into"):
        require_output(path, kind)


def test_what_is_read_only_is_not_replaced(model, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != os.fspath(model))
    with pytest.raises(InvalidInput, match="cannot replace .*: it is read-only"):
        require_output(model, "folder", force=True)


def test_the_folder_that_a_command_runs_in_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"the output \. is the folder that the command runs in"):
        require_output(files.Path("."), "folder")


def test_a_disk_that_is_nearly_full_is_said_with_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=20 * 2**20))
    require_output(tmp_path / "out", "folder", needs=4 * 2**20)
    with pytest.raises(InvalidInput, match="expected at least 21 MiB of free disk space for .*out, got 20 MiB"):
        require_output(tmp_path / "out", "folder", needs=5 * 2**20)


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOSPC, "full"), OSError(errno.EDQUOT, "quota"), ValueError("words")]
)
def test_a_full_disk_is_one_sentence_that_names_the_output(tmp_path, problem):
    if isinstance(problem, ValueError):  # as safetensors says it
        problem = ValueError('I/O error: Os { code: 28, kind: StorageFull, message: "No space left on device" }')
    refused = pytest.raises(DiskFull, match="the disk became full while [^ ]*/out was written")
    with refused, whole_folder(tmp_path / "out") as draft, whole_file(draft / "graph.npz"):
        raise problem
    assert names(tmp_path) == []


def test_another_error_stays_what_it_is(tmp_path):
    with pytest.raises(OSError, match="cable"), whole_file(tmp_path / "a"):
        raise OSError(errno.EIO, "cable")
