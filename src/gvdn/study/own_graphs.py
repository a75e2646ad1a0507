"""Graphs of one's own in a study: files or folders, told apart by their content."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gvdn.data.catalogue import DATASETS


@dataclass(frozen=True)
class OwnGraph:
    """A graph of one's own: as it was written, where it lies, and the beginning of its hash once it was read.

    `gvdn.bench.contents.with_contents` reads the graphs of a spec; this room does not.
    """

    written: str
    path: Path
    content: str = ""


def own_graphs(written: Iterable[str], home: Path) -> dict[str, OwnGraph]:
    """Those of the datasets that are files or folders, seen from `home`, by the name that tables print.

    That is the last part of the path; where two have the same, or a known dataset has it, the path as it was written.
    """
    found = [OwnGraph(one, home / one) for one in dict.fromkeys(written) if _is_there(home / one)]
    names = Counter(_name(one.path) for one in found)
    taken = {name for name, count in names.items() if count > 1 or name in DATASETS}
    return {one.written if _name(one.path) in taken else _name(one.path): one for one in found}


def _is_there(path: Path) -> bool:
    """Whether a graph can lie here: devices cannot be read, and a name may be too long to ask for."""
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def _name(path: Path) -> str:
    path = path.resolve()
    return path.stem if path.suffix == ".npz" else path.name
