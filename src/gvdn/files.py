"""Outputs: written whole or not at all, and refused before the work where they cannot be written."""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from gvdn import drafts
from gvdn.errors import GvdnError, InvalidInput

MARKS = ("manifest.json", "model.json", "report.html", "diagnosis.json")
"""A folder that gvdn wrote holds one of these; no other folder is ever deleted."""
SPARE_BYTES = 16 * 2**20
"""Free disk space that every output needs besides its own estimate."""
FULL = (errno.ENOSPC, errno.EDQUOT)

Kind = Literal["folder", "file", "shared folder"]


class DiskFull(GvdnError):
    """The disk became full while an output was written."""


class Occupied(InvalidInput):
    """The output is there already and may not be replaced."""


# ---- written whole or not at all


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path with the same suffix; the file is renamed to `path` when the block ends without an error."""
    target = _absolute(path)
    tidy(target)
    with naming_full_disk(path), drafts.draft_of(target) as draft:
        yield draft
        drafts.put(draft, target)


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """An empty folder, renamed to `path` when the block ends without an error; an old `path` needs `force`."""
    target = _absolute(path)
    require_output(path, "folder", force=force)
    with naming_full_disk(path), drafts.draft_of(target) as draft:
        draft.mkdir(exist_ok=True)
        yield draft
        if draft != target:
            _require_free(path, "folder", force)  # another process may have been quicker
        drafts.put(draft, target)


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """Turn the error of a full disk, in whatever words a library puts it, into a sentence that names the output."""
    try:
        yield
    except Exception as problem:
        full = isinstance(problem, DiskFull) or getattr(problem, "errno", None) in FULL
        if full or "No space left on device" in str(problem):
            again = "make room and run the same command again"
            raise DiskFull(f"the disk became full while {path} was written; {again}") from problem
        raise


def tidy(path: Path) -> None:
    """Clear up what killed runs left beside an output: stale drafts, and progress older than the finished output."""
    path = _absolute(path)
    drafts.sweep(path.parent, f"{re.escape(path.name)}|{_progress_pattern(path)}")
    if is_ours(path):
        finished = path.stat().st_mtime_ns
        for file in progress_files(path):
            with suppress(OSError):
                if file.stat().st_mtime_ns <= finished:
                    file.unlink()
        for folder in progress_folders(path):
            with suppress(OSError):  # the last checkpoint was taken before the output was there, or is half deleted
                if folder.stat().st_mtime_ns <= finished or not any(folder.glob("*/about.json")):
                    shutil.rmtree(folder)


# ---- the progress of a run that was stopped


def progress_file(output: Path, run: str, *content: bytes) -> Path:
    """Beside the output, named by everything the run depends on, so that only the same run goes on from it."""
    output, name = _absolute(output), hashlib.sha256(b"\x1f".join([run.encode(), *content])).hexdigest()[:12]
    return output.with_name(f".{output.name}-{name}.progress.safetensors")


def progress_files(output: Path) -> list[Path]:
    """The progress of every run that was to write this output."""
    output, pattern = _absolute(output), re.compile(_progress_pattern(output))
    names = sorted(os.listdir(output.parent)) if output.parent.is_dir() else []
    return [output.with_name(name) for name in names if pattern.fullmatch(name)]


def progress_folder(output: Path, run: str) -> Path:
    """As `progress_file`, for a run whose progress is more than one file."""
    file = progress_file(output, run)
    return file.with_name(file.name.removesuffix(".safetensors"))


def progress_folders(output: Path) -> list[Path]:
    """The folders of the progress of every run that was to write this output."""
    output, pattern = _absolute(output), re.compile(rf"\.{re.escape(output.name)}-[0-9a-f]{{12}}\.progress")
    names = sorted(os.listdir(output.parent)) if output.parent.is_dir() else []
    return [output.with_name(name) for name in names if pattern.fullmatch(name)]


def second_progress(progress: Path) -> Path:
    """The file beside a progress file for the other of two trainings."""
    return progress.with_name(progress.name.removesuffix(".safetensors") + ".alone.safetensors")


def drop_progress(output: Path) -> None:
    """Delete the progress of every run that was to write this output; called when a result is in its place."""
    for file in progress_files(output):
        file.unlink(missing_ok=True)


def _progress_pattern(output: Path) -> str:
    return rf"\.{re.escape(output.name)}-[0-9a-f]{{12}}\.progress(\.alone)?\.safetensors"


# ---- refused before the work


def require_output(path: Path, kind: Kind, *, force: bool = False, needs: int = 0) -> None:
    """Raise unless an output can be written; called before the long work, not after it.

    A folder or file is written as a whole: the path must be free, or may be replaced with `force`, a folder only if
    gvdn wrote it. A shared folder is added to.

    Args:
        needs: an estimate of the bytes that will be written.
    """
    tidy(path)
    _require_free(path, kind, force)
    whole = _absolute(path)
    above = next(parent for parent in whole.parents if parent.exists())
    there = whole if kind == "shared folder" and whole.exists() else above
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise InvalidInput(f"cannot write {path}: {there} is no folder that may be written into; choose another")
    if whole.exists() and not os.access(whole, os.W_OK):
        raise InvalidInput(f"cannot replace {path}: it is read-only; choose another output, or make it writable")
    free, wanted = shutil.disk_usage(there).free, SPARE_BYTES + needs
    if free < wanted:
        got = f"{free / 2**20:,.0f} MiB; make room or choose another output"
        raise InvalidInput(f"expected at least {wanted / 2**20:,.0f} MiB of free disk space for {path}, got {got}")


def _require_free(path: Path, kind: Kind, force: bool) -> None:
    """Raise where the path is taken by something that may not be replaced."""
    whole, word = _absolute(path), kind.split()[-1]
    if kind != "shared folder" and whole.is_symlink():
        raise InvalidInput(f"{path} is a symbolic link to {whole.readlink()}; give that path itself, or another output")
    if not whole.exists():
        return
    if whole.is_dir() != (word == "folder"):
        got = "file" if word == "folder" else "folder"
        raise InvalidInput(f"expected a {word} to write into, got the {got} {path}; choose another output")
    if kind == "file" and not force:
        raise Occupied(f"the file {path} is there already; choose another output or give --force to replace it")
    if kind != "folder":
        return
    if Path.cwd().is_relative_to(whole):
        raise InvalidInput(f"the output {path} is the folder that the command runs in; give one inside or beside it")
    if not any(whole.iterdir()):
        return
    if not force:
        raise Occupied(f"the folder {path} is not empty; choose another output or give --force to replace it")
    if not is_ours(whole):
        raise InvalidInput(f"the folder {path} was not written by gvdn, so --force does not replace it; choose another")


def is_ours(folder: Path) -> bool:
    """Whether gvdn wrote this folder."""
    return any((folder / mark).exists() for mark in MARKS)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
