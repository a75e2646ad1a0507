"""Files that are written whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gvdn.errors import InvalidInput


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path with the same suffix, which is renamed to `path` only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A temporary folder, renamed to `path` only when the block ends without an error; an old `path` needs `force`."""
    refuse_to_overwrite(path, force=force)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        yield draft
        draft.chmod(0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        draft.replace(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise unless `path` is free, or a folder that may be replaced: empty, or written by gvdn and with `force`."""
    if not path.exists():
        require_writable(path)
        return
    if not path.is_dir():
        raise InvalidInput(f"expected a folder to write into, got the file {path}; choose another output")
    if not any(path.iterdir()):
        return
    if not force:
        raise InvalidInput(f"the folder {path} is not empty; choose another output or give --force to replace it")
    if not any((path / mark).exists() for mark in MARKS):
        raise InvalidInput(f"the folder {path} was not written by gvdn, so --force does not replace it; choose another")


def require_writable(path: Path) -> None:
    """Raise unless `path` can be written; called before the long work, not after it."""
    ancestor = next(parent for parent in path.absolute().parents if parent.exists())
    if not ancestor.is_dir() or not os.access(ancestor, os.W_OK):
        raise InvalidInput(f"cannot write {path}: {ancestor} is no folder that may be written into; choose another")


MARKS = ("manifest.json", "model.json", "report.html", "diagnosis.json")
"""A folder that gvdn wrote holds one of these; no other folder is ever deleted."""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
