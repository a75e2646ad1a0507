"""What differs between the clean graph, of which baselines of parts are stored, and a later graph in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gvdn.graph.graph import find_ids
from gvdn.parts.around import CPU, Blocks
from gvdn.parts.baseline import PartBaseline, SharedBaseline
from gvdn.parts.exchange import Routes
from gvdn.parts.part import Border, Part, bordering
from gvdn.parts.prepare import whole_counts
from gvdn.trust.baseline import Baseline
from gvdn.trust.changes import Changes


@dataclass(frozen=True, eq=False)
class PartsChanges(Changes):
    """As `Changes`; links are those of the nodes of one worker, the numbers those of all.

    Attributes:
        gone: the number of vanished nodes.
        numbers: new links, lost links, and new links between stored nodes.
    """

    gone: int = 0
    numbers: tuple[int, int, int] = (0, 0, 0)

    @property
    def number_new(self) -> int:
        return self.numbers[0]

    @property
    def number_lost(self) -> int:
        return self.numbers[1]

    @property
    def exchanged(self) -> float:
        return min(self.numbers[2], self.number_lost) / max(self.old, 1)


@dataclass(frozen=True, eq=False)
class PartsBaseline(Baseline):
    """As `Baseline`, with a row for every node of the graph in hand, zeros where nothing is stored.

    Attributes:
        everyone: the number of nodes of the clean graph that something is stored of.
        of_degree: how many of them have 0, 1, 2 ... links.
    """

    everyone: int = 0
    of_degree: tuple[int, ...] = ()

    @property
    def number(self) -> int:
        return self.everyone

    def as_many(self, links: np.ndarray) -> np.ndarray:
        fewer = np.concatenate([[0], np.cumsum(self.of_degree)])
        return self.everyone - fewer[np.minimum(links, len(self.of_degree))]


def compared(
    blocks: Blocks, stored: dict[int, PartBaseline], shared: SharedBaseline, owner: list[int], edges: np.ndarray
) -> tuple[PartsBaseline, PartsChanges, np.ndarray]:
    """What is stored of the nodes in hand, what changed, and which of these edges are new."""
    row = {part.number: _rows(stored[part.number], part) for part in blocks.parts}
    offsets = shared.offsets
    mine = {n: np.where(rows >= 0, offsets[n] + rows, -1) for n, rows in row.items()}
    before = blocks.spread(mine)  # the position of each node among those of the clean graph
    known, every = before >= 0, int(offsets[-1])
    left, degrees, gone = _left(blocks, stored, row, offsets, owner)
    keys = {n: (offsets[n] + pairs[:, 0]) * every + pairs[:, 1] for n, pairs in left.items()}
    ends = before[edges]
    # A link is stored with either end; the first of an edge is always a node of a part here.
    is_new = ~_among(ends[:, 0] * every + ends[:, 1], np.sort(np.concatenate(list(keys.values()))))
    is_new |= (ends < 0).any(axis=1)
    links = edges[is_new]
    new, between = (_at_own(blocks, some) for some in (links, links[known[links].all(axis=1)]))
    both = ends[(ends >= 0).all(axis=1)]
    there = np.sort(np.concatenate([both[:, 0] * every + both[:, 1], both[:, 1] * every + both[:, 0]]))
    lost, old = np.zeros(blocks.size, np.int64), np.zeros(blocks.size, np.int64)
    for n, pairs in left.items():
        place = np.flatnonzero(row[n] >= 0)
        for count, some in ((lost, ~_among(keys[n], there)), (old, np.ones(len(pairs), dtype=bool))):
            of_row = np.bincount(pairs[some, 0], minlength=len(stored[n].ids))
            count[blocks.own[n].start + place] = of_row[row[n][place]]
    sums = whole_counts(blocks.group, [np.array([new.sum(), lost.sum(), between.sum(), old.sum(), gone])])
    changes = PartsChanges(
        stored=np.where(known, np.arange(blocks.size), -1), vanished=np.zeros(0, np.int64), links=links,
        gained=blocks.told(new), lost=blocks.told(lost), before=blocks.told(old), old=int(sums[3]) // 2,
        gone=int(sums[4]), numbers=(int(sums[0]) // 2, int(sums[1]) // 2, int(sums[2]) // 2),
    )  # fmt: skip
    return _baseline(blocks, stored, shared, row, degrees), changes, np.flatnonzero(is_new)


def _rows(stored: PartBaseline, part: Part) -> np.ndarray:
    """The row of each node of a part among those of which something is stored, -1 for the others."""
    rows = find_ids(stored.ids, part.ids)
    return np.where((rows >= 0) & stored.kept[rows], rows, -1) if len(stored.ids) else rows


def _at_own(blocks: Blocks, links: np.ndarray) -> np.ndarray:
    """How many of the links each own node has."""
    return np.where(blocks.is_own, np.bincount(links.ravel(), minlength=blocks.size), 0)


def _left(
    blocks: Blocks, stored: dict[int, PartBaseline], row: dict[int, np.ndarray], offsets: np.ndarray, owner: list[int]
) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray], int]:
    """The stored links between nodes that are still there: the row in the part, and the position of the other end among
    all nodes of the clean graph. The stored degree of each stored node, and how many of them vanished.

    One exchange between the parts of the clean graph: which nodes are still there, and which may be used.
    """
    parts, columns, flags = [], {}, {}
    for number, one in stored.items():
        part = np.searchsorted(offsets, one.far, side="right") - 1
        columns[number], borders, halo = bordering(number, len(one.ids), one.near, part, one.far - offsets[part])
        parts.append(Border(number, borders, halo))
        there = np.zeros(len(one.ids), dtype=bool)
        there[row[number][row[number] >= 0]] = True
        flags[number] = np.stack([there, one.kept], axis=1).astype(np.uint8)
    routes = Routes.between(blocks.group, owner, parts, CPU)
    halos = routes.gather({number: torch.from_numpy(one) for number, one in flags.items()})
    degrees, left, gone = {}, {}, 0
    for number, one in stored.items():
        both = np.concatenate([flags[number], halos[number].numpy()]).astype(bool)
        near, far = one.near, columns[number]
        used = both[near, 1] & both[far, 1]
        degrees[number] = np.bincount(near[used], minlength=len(one.ids))[one.kept]
        here = both[near, 0] & both[far, 0]
        left[number] = np.stack([near[here], one.far[here]], axis=1)
        gone += int((one.kept & ~flags[number][:, 0].astype(bool)).sum())
    return left, degrees, gone


def _baseline(
    blocks: Blocks,
    stored: dict[int, PartBaseline],
    shared: SharedBaseline,
    row: dict[int, np.ndarray],
    degrees: dict[int, np.ndarray],
) -> PartsBaseline:
    most = int(max((one.max(initial=0) for one in degrees.values()), default=0))
    most = int(blocks.group.largest(torch.tensor([most])))
    counted = whole_counts(blocks.group, [np.bincount(one, minlength=most + 1) for one in degrees.values()])
    rows = {
        name: blocks.spread({n: _taken(getattr(one, name), row[n]) for n, one in stored.items()})
        for name in ("answers", "own")
    }
    digests = np.zeros(blocks.size, np.uint64)
    for number, one in stored.items():
        digests[blocks.own[number]] = _taken(one.digests, row[number])
    known = shared.lazy.get()
    return PartsBaseline(
        ids=np.arange(blocks.size), edges=np.zeros((0, 2), np.int64), digests=digests, **rows,
        max_norm=known.max_norm, student=known.student, calibration=known.calibration,
        everyone=int(counted.sum()), of_degree=tuple(counted.tolist()),
    )  # fmt: skip


def _among(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Whether each key is among the ordered ones."""
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    return ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys


def _taken(rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    """These rows; zeros where the row is -1."""
    found = np.zeros((len(which), *rows.shape[1:]), dtype=rows.dtype)
    found[which >= 0] = rows[which[which >= 0]]
    return found
