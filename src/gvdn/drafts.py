"""Drafts: hidden folders beside an output, in which it is written before it is renamed to its place.

A draft is locked by the process that writes it, and the lock ends with that process, however it ends. So a draft
without a lock was left by a run that was killed, and the next one that writes the same output deletes it.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK, OLD, GONE = "lock", "old", "gone"
"""In a draft, besides what is written: its lock, and the folder that was in the output's place, which is still whole
(`old`) or is being deleted (`gone`)."""

_writing: set[Path] = set()
"""The drafts that this process is writing."""


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Where an output (an absolute path) is to be written: in a new draft, or right there if it is a part of one."""
    if any(parent in _writing for parent in path.parents):
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
        return
    _make_folder(path.parent)
    home, lock = _locked_draft(path)
    _writing.add(home)
    try:
        yield home / f"draft{path.suffix}"
    finally:
        _writing.discard(home)
        _delete(home)
        os.close(lock)


def put(draft: Path, path: Path) -> None:
    """Bring what was written to the disk, then rename it; a folder that was in its place is deleted with the draft.

    At every moment the old folder or the new one is whole, in its place or in the draft.
    """
    if draft == path:
        return
    old = draft.parent / OLD
    _sync_all(draft)
    if draft.is_dir() and path.is_dir():
        path.rename(old)
    try:
        draft.replace(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    _sync(path.parent)
    if old.exists():
        old.rename(draft.parent / GONE)


def sweep(folder: Path, target: str) -> None:
    """Delete the stale drafts of every output in a folder whose name matches the pattern `target`.

    An output that was moved into a draft, to be replaced, is moved back if no other is in its place.
    """
    pattern = re.compile(rf"\.({target})\.draft-[0-9a-f]{{8}}")
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if found := pattern.fullmatch(name):
                with suppress(OSError):
                    _sweep(folder / name, folder / found[1])


def _sweep(home: Path, path: Path) -> None:
    """Delete a draft of `path`, unless a process that lives holds its lock."""
    if not (home / LOCK).exists():
        home.rmdir()  # killed before it was locked, or when all else was deleted
        return
    lock = _lock(home, os.O_RDWR)
    if lock is None:
        return
    try:
        if (home / OLD).exists():
            (home / OLD).rename(home / GONE if os.path.lexists(path) else path)
            _sync(path.parent)
        _delete(home)
    finally:
        os.close(lock)


def _delete(home: Path) -> None:
    """Delete a draft, its lock last: a kill in between leaves one that can still be told to be stale."""
    with suppress(OSError):
        for part in [part for part in home.iterdir() if part.name != LOCK]:
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        (home / LOCK).unlink()
        home.rmdir()


# ---- locks


def _locked_draft(path: Path) -> tuple[Path, int]:
    """A new draft of an output, and the descriptor that holds its lock."""
    while True:
        home = path.with_name(f".{path.name}.draft-{secrets.token_hex(4)}")
        home.mkdir()
        with suppress(FileNotFoundError):  # swept before it was locked
            lock = _lock(home, os.O_RDWR | os.O_CREAT)
            if lock is not None:
                return home, lock


def _lock(home: Path, flags: int) -> int | None:
    """A descriptor that holds the lock of a draft until it is closed; None where another process holds it."""
    descriptor = os.open(home / LOCK, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = (home / LOCK).exists()
    except BlockingIOError:
        held = False
    except OSError:  # a file system without locks: drafts are written, and none is ever taken to be stale
        held = bool(flags & os.O_CREAT)
    if held:
        return descriptor
    os.close(descriptor)
    return None


# ---- to the disk


def _sync_all(path: Path) -> None:
    """Bring a file, or a folder with all that is in it, to the disk."""
    mode = path.parent.stat().st_mode & 0o666  # safetensors makes files that only their owner can read
    parts = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    for file in parts if path.is_dir() else [path]:
        file.chmod(mode)
        _sync(file)
    for folder, _, _ in os.walk(path, topdown=False):
        _sync(Path(folder))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, on the disk too."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        _sync(one.parent)
