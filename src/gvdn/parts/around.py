"""The parts of one worker with their halos as one graph, on which the trust model works as on any other.

The nodes of a part come first and its halo behind them, then the next part. All links of a part's own nodes are there,
so that sums over links are right for own nodes; those of the halo are told by the workers that own it. A link between
two parts is there twice, once in each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gvdn.graph import Graph
from gvdn.graph.graph import Features
from gvdn.methods.files import bytes_to_text, text_to_bytes
from gvdn.parts.exchange import Routes
from gvdn.parts.group import Group, exact_sum
from gvdn.parts.part import Part
from gvdn.parts.prepare import whole_counts
from gvdn.parts.site import NO_FEATURES
from gvdn.trust.rows import Pairs

CPU = torch.device("cpu")
PIECE = 1 << 21
"""Neighbours that are compared at a time."""


class Around(Graph):
    """Nodes and halos of parts. The parts were checked when they were read; a node of a halo may be there twice."""

    def __post_init__(self) -> None:
        """Nothing is checked or copied again."""


class Blocks:
    """The parts of one worker one after another, each with its halo.

    Attributes:
        parts: in the order of their numbers.
        own, halo: where the nodes and the halo of each part are.
        is_own: whether each node is one of a part of this worker.
        home: the part that each node belongs to.
    """

    def __init__(self, parts: list[Part], group: Group, owner: list[int]) -> None:
        self.parts, self.group = sorted(parts, key=lambda part: part.number), group
        self.routes = Routes.between(group, owner, self.parts, CPU)
        self.own: dict[int, slice] = {}
        self.halo: dict[int, slice] = {}
        end, home = 0, []
        for part in self.parts:
            middle, last = end + part.nodes, end + part.nodes + part.halo_size
            self.own[part.number], self.halo[part.number], end = slice(end, middle), slice(middle, last), last
            home.append(np.full(part.nodes, part.number))
            home += [np.full(one.stop - one.start, other) for other, one in sorted(part.halo.items())]
        self.size, self.home = end, np.concatenate([np.zeros(0, np.int64), *home])
        self.is_own = np.zeros(end, dtype=bool)
        for one in self.own.values():
            self.is_own[one] = True

    def told(self, values: np.ndarray) -> np.ndarray:
        """The same values, in which those of halos are what the owners of the nodes have."""
        rows = values.reshape(self.size, -1)
        halos = self.routes.gather({number: torch.from_numpy(rows[one]) for number, one in self.own.items()})
        found = rows.copy()
        for number, one in self.halo.items():
            found[one] = halos[number].numpy()
        return found.reshape(values.shape)

    def spread(self, values: dict[int, np.ndarray]) -> np.ndarray:
        """Values of the nodes of each part, and of their halos."""
        like = next(iter(values.values()))
        found = np.zeros((self.size, *like.shape[1:]), dtype=like.dtype)
        for number, one in self.own.items():
            found[one] = values[number]
        return self.told(found)

    def names(self) -> np.ndarray:
        """The id of every node."""
        ids = {part.number: part.ids for part in self.parts}
        if next(iter(ids.values())).dtype.kind != "U":
            return self.spread(ids)
        raw = {number: text_to_bytes(some) for number, some in ids.items()}
        widest = torch.tensor([max(one.shape[1] for one in raw.values())])
        width = int(self.group.largest(widest))
        return bytes_to_text(
            self.spread({n: np.pad(one, ((0, 0), (0, width - one.shape[1]))) for n, one in raw.items()})
        )

    def take_features(self) -> Features:
        """The feature rows of every node; an exchange of those of the halos. The parts keep none."""
        rows = {part.number: part.features for part in self.parts}
        self.parts = [replace(part, features=NO_FEATURES) for part in self.parts]
        if isinstance(next(iter(rows.values())), np.ndarray):
            return self.spread(rows)
        halos = self.routes.gather_sparse(rows, CPU)
        return sp.csr_array(sp.vstack([one for n in rows for one in (rows[n], halos[n])], format="csr"))

    def adjacency(self) -> sp.csr_array:
        """The links of own nodes, in both directions."""
        rows, columns, weights = [], [], []
        for part in self.parts:
            entries, first = part.links.tocoo(), self.own[part.number].start
            rows.append(first + entries.row.astype(np.int64))
            columns.append(first + entries.col.astype(np.int64))
            weights.append(entries.data)
            leaving = entries.col >= part.nodes
            rows.append(columns[-1][leaving])
            columns.append(rows[-2][leaving])
            weights.append(entries.data[leaving])
        held = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csr_array(held, shape=(self.size, self.size))

    def total(self, flags: np.ndarray) -> int:
        """The sum over own nodes of all workers."""
        return int(whole_counts(self.group, [np.array([flags[self.is_own].sum()], dtype=np.int64)])[0])

    def sum(self, values: np.ndarray, nodes: np.ndarray) -> tuple[float, int]:
        """The sum of the values of these nodes that are own ones, over all workers, and how many they are."""
        mine = [values[(nodes >= one.start) & (nodes < one.stop)] for one in self.own.values()]
        sums = [torch.tensor([float(some.sum()), float(len(some))], dtype=torch.float64) for some in mine]
        found, number = exact_sum(self.group, sums).tolist()
        return found, round(number)


class Exchange:
    """A scene on parts: what it asks of other workers (see `gvdn.trust.here.Here`).

    Args:
        links: the links in question.
        offsets: the position of the first node of each part among the nodes of all parts.
    """

    def __init__(self, blocks: Blocks, links: Pairs, offsets: np.ndarray) -> None:
        self.blocks, self.offsets = blocks, offsets
        ends = np.zeros(blocks.size, dtype=bool)
        ends[links] = True
        self.wanted = {number: np.flatnonzero(ends[one]) for number, one in blocks.halo.items()}
        self.routes = blocks.routes.narrowed({number: torch.from_numpy(one) for number, one in self.wanted.items()})
        self._degrees = blocks.spread({part.number: np.diff(part.links.indptr) for part in blocks.parts}).astype(
            np.int64
        )
        self.near = self._neighbours()

    def of_ends(self, sums: np.ndarray) -> np.ndarray:
        rows = sums.reshape(self.blocks.size, -1)
        own: dict[int, Tensor] = {n: torch.from_numpy(rows[one]) for n, one in self.blocks.own.items()}
        halos, found = self.routes.gather(own), rows.copy()
        for number, one in self.blocks.halo.items():
            found[one.start + self.wanted[number]] = halos[number].numpy()
        return found.reshape(sums.shape)

    def of_all(self, values: np.ndarray) -> np.ndarray:
        return self.blocks.told(values)

    def mean(self, values: np.ndarray, nodes: np.ndarray) -> float:
        total, number = self.blocks.sum(values, nodes)
        return total / max(number, 1)

    def some(self, flags: np.ndarray) -> bool:
        return self.blocks.total(flags) > 0

    def degrees(self, graph: Graph) -> np.ndarray:
        return self._degrees

    def common(self, graph: Graph, pairs: Pairs) -> np.ndarray:
        found, lengths = np.zeros(len(pairs)), self._degrees[pairs].sum(axis=1)
        ends, start = np.cumsum(lengths), 0
        while start < len(pairs):
            stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + PIECE)))
            first, second = (self.near[pairs[start:stop, side]] for side in (0, 1))
            second.data = np.ones_like(second.data)
            found[start:stop] = np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
            start = stop
        return found

    def _neighbours(self) -> sp.csr_array:
        """For each own node, and each of the halo that is an end of a link in question, its neighbours among the nodes
        of all parts; an entry is 1 / log(2 + degree) of the neighbour."""
        blocks = self.blocks
        place = blocks.spread({part.number: np.arange(part.nodes) for part in blocks.parts}) + self.offsets[blocks.home]
        worth, every = (1 / np.log(2.0 + self._degrees)).astype(np.float32), int(self.offsets[-1])
        rows = {}
        for part in blocks.parts:
            columns = blocks.own[part.number].start + part.links.indices
            held = (worth[columns], place[columns], part.links.indptr)
            rows[part.number] = sp.csr_array(held, shape=(part.nodes, every))
        halos, pieces = self.routes.gather_sparse(rows, CPU), []
        for part in blocks.parts:
            n, wanted = part.number, self.wanted[part.number]
            there = sp.csr_array(
                (np.ones(len(wanted), np.float32), (wanted, np.arange(len(wanted)))),
                shape=(part.halo_size, len(wanted)),
            )
            pieces += [rows[n], sp.csr_array(there @ halos[n])]
        found = sp.csr_array(sp.vstack(pieces, format="csr"))
        found.sort_indices()
        return found
