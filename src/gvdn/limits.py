"""Limits of what is read from a file, and of what an error quotes from it."""

import os
import stat
from pathlib import Path
from typing import Any


def most_bytes() -> int:
    """How much one file, or the arrays in it, may hold: 1 GiB, or what GVDN_MAX_BYTES says."""
    said = os.environ.get("GVDN_MAX_BYTES", "")
    return int(said) if said.isdecimal() else 1 << 30


def require_file(path: Path, most: int | None = None) -> None:
    """OSError unless this is a regular file within the limit: a device, a pipe or a folder is never opened."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is no regular file")
    require_size(found.st_size, most)


def require_size(size: int, most: int | None = None) -> None:
    """OSError where something is larger than the limit."""
    limit = most_bytes() if most is None else most
    if size > limit:
        advice = "if you trust the file, set GVDN_MAX_BYTES to a larger number"
        raise OSError(f"expected at most {limit:,} bytes, got {size:,}; {advice}")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file within the limit; OSError otherwise."""
    require_file(path, most)
    limit = most_bytes() if most is None else most
    with path.open("rb") as file:
        content = file.read(limit + 1)
    require_size(len(content), most)
    return content


def short(value: Any, most: int = 60) -> str:
    """A value as an error quotes it: its repr, cut where it is long."""
    text = repr(value[: 10 * most] if isinstance(value, str | bytes) else value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
