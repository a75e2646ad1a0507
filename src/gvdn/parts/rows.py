"""The links of every node, some nodes at a time: from a matrix in memory, or sorted on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput

BUCKET = 1 << 19
"""Nodes whose links are sorted at a time."""


class Block(NamedTuple):
    """The links of the nodes from `first` on: those of node first + i are columns[starts[i]:starts[i + 1]]."""

    first: int
    starts: np.ndarray
    columns: np.ndarray
    weights: np.ndarray

    @property
    def sources(self) -> np.ndarray:
        return np.repeat(np.arange(self.first, self.first + len(self.starts) - 1), np.diff(self.starts))


@runtime_checkable
class Rows(Protocol):
    """The links of every node in both directions, without loops and repetitions, sorted."""

    @property
    def nodes(self) -> int: ...

    @property
    def entries(self) -> int:
        """Links, each counted from both ends."""
        ...

    def __iter__(self) -> Iterator[Block]: ...


class MemoryRows:
    """The rows of a CSR matrix."""

    def __init__(self, adjacency: sp.csr_array) -> None:
        self.adjacency = adjacency
        self.nodes, self.entries = int(adjacency.shape[0]), int(adjacency.nnz)

    def __iter__(self) -> Iterator[Block]:
        starts = self.adjacency.indptr.astype(np.int64)
        for first in range(0, self.nodes, BUCKET):
            last = min(first + BUCKET, self.nodes)
            part = slice(starts[first], starts[last])
            here = starts[first : last + 1] - starts[first]
            yield Block(first, here, self.adjacency.indices[part].astype(np.int64), self.adjacency.data[part])


class DiskRows:
    """Blocks that lie in files, one for each range of nodes."""

    def __init__(self, files: list[Path], nodes: int, entries: int) -> None:
        self.files, self.nodes, self.entries = files, nodes, entries

    def __iter__(self) -> Iterator[Block]:
        for number, file in enumerate(self.files):
            first = number * BUCKET
            found = np.fromfile(file, dtype=_HALF)
            lengths = np.bincount(found["source"] - first, minlength=min(BUCKET, self.nodes - first))
            starts = np.concatenate([[0], np.cumsum(lengths)])
            yield Block(first, starts, found["target"].astype(np.int64), found["weight"].copy())


_RAW = np.dtype([("low", "<i8"), ("high", "<i8"), ("weight", "<f8"), ("up", "?")])
_HALF = np.dtype([("source", "<i8"), ("target", "<i8"), ("weight", "<f4")])


def sorted_rows(links: Iterable[tuple[np.ndarray, np.ndarray | None]], nodes: int, scratch: Path) -> DiskRows:
    """The rows of links that come in any order: loops are left out, repetitions merged as `clean_edges` merges them.

    Links are put into files by their smaller end, merged there, and put by either end into files that are sorted, so
    that no more than the links of `BUCKET` nodes are in memory.
    """
    number = max(1, -(-nodes // BUCKET))
    raw = [scratch / f"raw-{bucket}" for bucket in range(number)]
    weighted = _spread(links, raw)
    twice = weighted and all(_written_twice(file) for file in raw if file.exists())
    halves = [scratch / f"half-{bucket}" for bucket in range(number)]
    for file in raw:
        low, high, weights = _merged(file, twice, weighted)
        for sources, targets in ((low, high), (high, low)):
            _append(_table(_HALF, source=sources, target=targets, weight=weights), sources // BUCKET, halves)
        file.unlink(missing_ok=True)
    return DiskRows(halves, nodes, sum(_sorted_in_place(file) for file in halves))


def _spread(links: Iterable[tuple[np.ndarray, np.ndarray | None]], raw: list[Path]) -> bool:
    """Put links into the file of their smaller end; returns whether they have weights."""
    weighted = False
    for pairs, weights in links:
        straight = pairs[:, 0] != pairs[:, 1]
        ends = pairs[straight]
        weighted = weighted or weights is not None
        given = np.ones(len(ends)) if weights is None else weights[straight]
        low, high = ends.min(axis=1), ends.max(axis=1)
        _append(_table(_RAW, low=low, high=high, weight=given, up=ends[:, 0] < ends[:, 1]), low // BUCKET, raw)
    return weighted


def _grouped(file: Path) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Each pair once: its ends, and for either direction how often it is there and the sum of its weights."""
    found = np.fromfile(file, dtype=_RAW) if file.exists() else np.empty(0, dtype=_RAW)
    order = np.lexsort((found["high"], found["low"]))
    found = found[order]
    new = np.ones(len(found), dtype=bool)
    new[1:] = (found["low"][1:] != found["low"][:-1]) | (found["high"][1:] != found["high"][:-1])
    which, size = np.cumsum(new) - 1, int(new.sum())
    ways = [found["up"], ~found["up"]]
    counts = [np.bincount(which[way], minlength=size) for way in ways]
    sums = [np.bincount(which[way], found["weight"][way], minlength=size) for way in ways]
    return found["low"][new], found["high"][new], counts, sums


def _written_twice(file: Path) -> bool:
    """Whether every link is there in both directions with the same weight: an undirected graph written twice."""
    _, _, counts, sums = _grouped(file)
    return bool((counts[0] == counts[1]).all()) and bool(np.allclose(sums[0], sums[1], rtol=1e-6, atol=0))


def _merged(file: Path, twice: bool, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high, _, sums = _grouped(file)
    total = (sums[0] if twice else sums[0] + sums[1]).astype(np.float32) if weighted else np.ones(len(low), np.float32)
    if not np.isfinite(total).all():
        raise InvalidInput("expected weights whose sum is a finite number in single precision; divide them all")
    return low, high, total


def _sorted_in_place(file: Path) -> int:
    """Sort the entries of a file by source and target; returns their number."""
    found = np.fromfile(file, dtype=_HALF) if file.exists() else np.empty(0, dtype=_HALF)
    found[np.lexsort((found["target"], found["source"]))].tofile(file)
    return len(found)


def _append(table: np.ndarray, buckets: np.ndarray, files: list[Path]) -> None:
    """Add each row to the file of its bucket."""
    order = np.argsort(buckets, kind="stable")
    table, ends = table[order], np.searchsorted(buckets[order], np.arange(len(files) + 1))
    for file, start, end in zip(files, ends[:-1], ends[1:], strict=True):
        if end > start:
            with file.open("ab") as opened:
                table[start:end].tofile(opened)


def _table(dtype: np.dtype, **columns: np.ndarray) -> np.ndarray:
    made = np.empty(len(next(iter(columns.values()))), dtype=dtype)
    for name, column in columns.items():
        made[name] = column
    return made


def whole_matrix(rows: Rows) -> sp.csr_array:
    """All rows as one matrix in memory, for a partitioner that needs them at once."""
    blocks = list(rows)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.starts) for block in blocks]))])
    columns, weights = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("columns", "weights"))
    return sp.csr_array((weights, columns, starts), shape=(rows.nodes, rows.nodes))
