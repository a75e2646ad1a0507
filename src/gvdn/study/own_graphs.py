"""Graphs of one's own in a study: files or folders, told apart by their content."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gvdn.data import DATASETS, load_graph

SHOWN = 12
"""Letters of a graph's hash that stand in the cells of a study."""


@dataclass(frozen=True)
class OwnGraph:
    """A graph of one's own: as it was written, and where it lies."""

    written: str
    path: Path

    @cached_property
    def content(self) -> str:
        """The beginning of the graph's hash; the graph is read when this is first asked for."""
        return load_graph(self.path).hash[:SHOWN]

    def where(self) -> dict[str, Any]:
        """The fields of a cell that say which graph it is."""
        return {"content": self.content, "path": str(self.path)}


def own_graphs(written: Iterable[str], home: Path) -> dict[str, OwnGraph]:
    """Those of the datasets that are files or folders, seen from `home`, by the name that tables print.

    That is the last part of the path; where two have the same, the path as it was written.
    """
    found = [OwnGraph(one, home / one) for one in dict.fromkeys(written) if (home / one).exists()]
    names = Counter(_name(one.path) for one in found)
    taken = {name for name, count in names.items() if count > 1 or name in DATASETS}
    return {one.written if _name(one.path) in taken else _name(one.path): one for one in found}


def _name(path: Path) -> str:
    path = path.resolve()
    return path.stem if path.suffix == ".npz" else path.name
