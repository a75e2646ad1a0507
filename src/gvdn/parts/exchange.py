"""Rows of nodes that other parts have links to: from their owners to the halos, and what is added to them back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gvdn.parts.group import Group
from gvdn.parts.part import Border, Part


def owners(sizes: list[int], workers: int) -> list[int]:
    """The worker of each part: the largest part first, each to the worker that has least; the same on every worker."""
    load, found = [0] * workers, [0] * len(sizes)
    for part in sorted(range(len(sizes)), key=lambda one: (-sizes[one], one)):
        worker = min(range(workers), key=lambda one: (load[one], one))
        found[part] = worker
        load[worker] += sizes[part]
    return found


@dataclass
class Routes:
    """Which rows go where.

    Attributes:
        owner: the worker of each part.
        send: (part here, other part) -> rows of the part here that are in the halo of the other.
        receive: (part here, other part) -> how many rows of the other are in the halo of the part here.
    """

    group: Group
    owner: list[int]
    send: dict[tuple[int, int], Tensor]
    receive: dict[tuple[int, int], int]

    @classmethod
    def between(cls, group: Group, owner: list[int], parts: Sequence[Part | Border], device: torch.device) -> Routes:
        """The routes of all halos. What to send is known from a part's own links: those to the other part."""
        send = {
            (part.number, other): torch.from_numpy(rows).to(device)
            for part in parts
            for other, rows in part.borders.items()
        }
        receive = {
            (part.number, other): piece.stop - piece.start for part in parts for other, piece in part.halo.items()
        }
        return cls(group, owner, send, receive)

    @property
    def mine(self) -> list[int]:
        return self.of(self.group.rank)

    def of(self, worker: int) -> list[int]:
        return [part for part, theirs in enumerate(self.owner) if theirs == worker]

    def gather(self, rows: Mapping[int, Tensor]) -> Halos:
        """The halo of each part here, given the rows of all parts here; ordered by the other part.

        Only rows of other workers are copied at once; the halo of a part is put together when it is asked for.
        """
        rank = self.group.rank
        pieces = {pair: rows[pair[0]][chosen] for pair, chosen in self.send.items() if self.owner[pair[1]] != rank}
        lengths = {pair: number for pair, number in self.receive.items() if self.owner[pair[1]] != rank}
        return Halos(self, rows, self._carried(pieces, lengths, next(iter(rows.values()))))

    def give_back(self, halos: Mapping[int, Tensor], into: Mapping[int, Tensor]) -> None:
        """Add the rows of halos to those of their owners, in the order of the parts, whoever owns them."""
        pieces: dict[tuple[int, int], Tensor] = {}
        for part in self.mine:
            others = sorted(other for own, other in self.receive if own == part)
            lengths = [self.receive[part, other] for other in others]
            pieces |= {(part, other): piece for other, piece in zip(others, halos[part].split(lengths), strict=True)}
        lengths_back = {pair: len(chosen) for pair, chosen in self.send.items()}
        found = self._carried(pieces, lengths_back, next(iter(into.values())))
        for part, other in sorted(found):
            into[part].index_add_(0, self.send[part, other], found[part, other])

    def everywhere(self, rows: Mapping[int, Tensor]) -> Tensor:
        """The rows of all parts of all workers, in the order of the parts, on every worker."""
        group, mine = self.group, self.mine
        lengths = torch.zeros(len(self.owner), dtype=torch.int64)
        for part in mine:
            lengths[part] = len(rows[part])
        lengths = group.total(lengths)
        every = [[int(lengths[part]) for part in self.of(worker)] for worker in range(group.size)]
        packed = torch.cat([rows[part] for part in mine])
        found: dict[int, Tensor] = {}
        for worker, message in enumerate(group.swap([packed] * group.size, [sum(some) for some in every])):
            found |= dict(zip(self.of(worker), message.split(every[worker]), strict=True))
        return torch.cat([found[part] for part in sorted(found)])

    def narrowed(self, wanted: Mapping[int, Tensor]) -> Routes:
        """The routes of some rows of the halos alone: positions in the halo of each part here, ascending."""
        asked: dict[tuple[int, int], Tensor] = {}
        for part in self.mine:
            start = 0
            for other in sorted(other for own, other in self.receive if own == part):
                end = start + self.receive[part, other]
                here = wanted[part]
                asked[part, other] = here[(here >= start) & (here < end)] - start
                start = end
        device = next(iter(wanted.values())).device
        counts = {pair: torch.tensor([[len(rows)]], device=device) for pair, rows in asked.items()}
        one = torch.zeros(0, 1, dtype=torch.int64, device=device)
        told = self._carried(counts, dict.fromkeys(self.send, 1), one)
        sizes = {pair: int(count) for pair, count in told.items()}
        found = self._carried({pair: rows[:, None] for pair, rows in asked.items()}, sizes, one)
        send = {pair: self.send[pair][rows[:, 0]] for pair, rows in found.items()}
        return Routes(self.group, self.owner, send, {pair: len(rows) for pair, rows in asked.items()})

    def gather_sparse(self, rows: Mapping[int, sp.csr_array], device: torch.device) -> dict[int, sp.csr_array]:
        """As `gather`, for rows of sparse matrices."""
        mine = {pair: sp.csr_array(rows[pair[0]][chosen.cpu().numpy()]) for pair, chosen in self.send.items()}
        lengths = {pair: torch.from_numpy(np.diff(one.indptr).astype(np.int64))[:, None] for pair, one in mine.items()}
        found = self._carried(lengths, self.receive, torch.zeros(0, 1, dtype=torch.int64))
        sizes = {pair: int(one.sum()) for pair, one in found.items()}
        columns, values = (
            self._carried(
                {pair: torch.from_numpy(getattr(one, name).astype(kind))[:, None] for pair, one in mine.items()},
                sizes,
                torch.from_numpy(np.zeros((0, 1), dtype=kind)),
            )
            for name, kind in (("indices", np.int32), ("data", np.float32))
        )
        made = {}
        for part in self.mine:
            others = sorted(other for own, other in self.receive if own == part)
            flat = [
                np.concatenate([held[part, other].numpy().ravel() for other in others] or [np.zeros(0)])
                for held in (found, columns, values)
            ]
            starts = np.concatenate([[0], np.cumsum(flat[0])]).astype(np.int64)
            shape = (len(starts) - 1, rows[part].shape[1])
            made[part] = sp.csr_array((flat[2].astype(np.float32), flat[1].astype(np.int32), starts), shape=shape)
        return made

    def _carried(
        self, pieces: Mapping[tuple[int, int], Tensor], lengths: Mapping[tuple[int, int], int], like: Tensor
    ) -> dict[tuple[int, int], Tensor]:
        """Carry a matrix from each part here to others; what comes for each pair (part here, other part).

        `lengths` says how many rows come for each pair; `like` has the width and the type of all of them. In a message
        the pieces come in the order of the receiving part, then of the sending one.
        """
        empty = like[:0]
        outgoing, expected = [], []
        for worker in range(self.group.size):
            theirs = self.of(worker)
            pairs = [(part, other) for other in theirs for part in self.mine if (part, other) in pieces]
            outgoing.append(torch.cat([empty, *(pieces[pair] for pair in pairs)]))
            expected.append([(part, other) for part in self.mine for other in theirs if (part, other) in lengths])
        incoming = [sum(lengths[pair] for pair in pairs) for pairs in expected]
        found: dict[tuple[int, int], Tensor] = {}
        for pairs, message in zip(expected, self.group.swap(outgoing, incoming), strict=True):
            found |= dict(zip(pairs, message.split([lengths[pair] for pair in pairs]), strict=True))
        return found


class Halos(Mapping[int, Tensor]):
    """The halo of each part of a worker, put together from rows of its other parts and of other workers'."""

    def __init__(self, routes: Routes, rows: Mapping[int, Tensor], found: Mapping[tuple[int, int], Tensor]) -> None:
        self.routes, self.rows, self.found = routes, rows, found

    def __getitem__(self, part: int) -> Tensor:
        others = sorted(other for own, other in self.routes.receive if own == part)
        return torch.cat([self.rows[part][:0], *(self._piece(part, other) for other in others)])

    def _piece(self, part: int, other: int) -> Tensor:
        there = self.found.get((part, other))
        return self.rows[other][self.routes.send[other, part]] if there is None else there

    def __iter__(self) -> Iterator[int]:
        return iter(self.routes.mine)

    def __len__(self) -> int:
        return len(self.routes.mine)
