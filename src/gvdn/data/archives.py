"""Files over the network, and archives of files: fetched and unpacked within limits."""

import hashlib
import urllib.request
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from gvdn.errors import InvalidInput
from gvdn.graph.npz import BROKEN
from gvdn.limits import most_bytes, require_file, require_size

CHUNK = 1 << 20


def fetch(url: str, target: Path, timeout: int) -> None:
    """Download a file; OSError where the server sends more than the limit or does not answer."""
    if not url.startswith("https://"):
        raise InvalidInput(f"expected an address that begins with https://, got {url}")
    with urllib.request.urlopen(url, timeout=timeout) as answer, target.open("wb") as file:
        _copy(answer, file, most_bytes())


def unpack(archive: Path, stem: str, wanted: Iterable[str], optional: Iterable[str], folder: Path) -> None:
    """Write the named files of a zip archive, which has them in a folder `stem`, into a folder; nothing else of it.

    Names of members are compared and never used as paths, and what they declare is added up before any is read.
    """
    wanted = tuple(wanted)
    try:
        require_file(archive)
        with zipfile.ZipFile(archive) as opened:
            there = {info.filename: info for info in opened.infolist()}
            missing = next((name for name in wanted if f"{stem}/{name}" not in there), None)
            if missing is not None:
                raise InvalidInput(f"{archive}: expected {stem}/{missing} in the archive, got none; get it again")
            names = [*wanted, *(name for name in optional if f"{stem}/{name}" in there)]
            require_size(sum(there[f"{stem}/{name}"].file_size for name in names))
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with opened.open(there[f"{stem}/{name}"]) as member, (folder / name).open("wb") as file:
                    _copy(member, file, there[f"{stem}/{name}"].file_size)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {archive}") from problem
    except InvalidInput:
        raise
    except BROKEN as problem:
        reason = " ".join(str(problem).split())[:300]
        raise InvalidInput(f"{archive}: not a whole zip archive ({reason}); get it again") from problem


def sha256_of(path: Path) -> str:
    """The checksum of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Any, target: IO[bytes], most: int) -> None:
    """Copy at most so many bytes; OSError where there are more."""
    copied = 0
    while piece := source.read(CHUNK):
        copied += len(piece)
        require_size(copied, most)
        target.write(piece)
