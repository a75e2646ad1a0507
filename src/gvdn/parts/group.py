"""The workers that own the parts, as one of them sees the others: rows are swapped, numbers are added up.

Sums do not depend on who owns which part: each part's numbers are rounded to whole multiples of a power of two, and
whole numbers are added, which is exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from gvdn.training.loop import NotFinite

BITS = 52
"""Of the largest number of a sum, in whole numbers; 2^10 of them still fit into 63 bits."""


@runtime_checkable
class Group(Protocol):
    """What the parts need of the workers; every worker calls the same functions in the same order.

    Attributes:
        rank, size: the number of this worker, from 0, and how many there are.
        sent: bytes that this worker has sent to others so far.
    """

    rank: int
    size: int
    sent: int

    def swap(self, outgoing: list[Tensor], incoming: list[int]) -> list[Tensor]:
        """Send a matrix to each worker; returns what each sent here, so many rows of the same width and type."""
        ...

    def largest(self, numbers: Tensor) -> Tensor:
        """The largest of all workers, number by number."""
        ...

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all workers, number by number; whole numbers."""
        ...

    def wait(self) -> None:
        """Until every worker is here."""
        ...


class Alone:
    """One worker that owns all parts: nothing is sent."""

    def __init__(self) -> None:
        self.rank, self.size, self.sent = 0, 1, 0

    def swap(self, outgoing: list[Tensor], incoming: list[int]) -> list[Tensor]:
        return outgoing

    def largest(self, numbers: Tensor) -> Tensor:
        return numbers

    def total(self, numbers: Tensor) -> Tensor:
        return numbers

    def wait(self) -> None:
        """There is nobody to wait for."""


class Distributed:
    """The default process group of torch.distributed: gloo between CPUs, nccl between GPUs."""

    def __init__(self) -> None:
        import torch.distributed as dist

        self.dist = dist
        self.rank, self.size, self.sent = dist.get_rank(), dist.get_world_size(), 0
        cuda = dist.get_backend() == "nccl"
        self.wire = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")

    def swap(self, outgoing: list[Tensor], incoming: list[int]) -> list[Tensor]:
        device, sizes = outgoing[0].device, [len(one) for one in outgoing]
        packed = torch.cat(outgoing).to(self.wire).contiguous()
        found = packed.new_empty(sum(incoming), packed.shape[1])
        self.dist.all_to_all_single(found, packed, incoming, sizes)
        row = packed.shape[1] * packed.element_size()
        self.sent += row * (len(packed) - sizes[self.rank])
        return list(found.to(device).split(incoming))

    def largest(self, numbers: Tensor) -> Tensor:
        return self._reduced(numbers, self.dist.ReduceOp.MAX)

    def total(self, numbers: Tensor) -> Tensor:
        return self._reduced(numbers, self.dist.ReduceOp.SUM)

    def _reduced(self, numbers: Tensor, how: object) -> Tensor:
        found = numbers.to(self.wire, copy=True)
        self.dist.all_reduce(found, op=how)
        # A ring sends each number twice, less the worker's own share.
        self.sent += 2 * found.numel() * found.element_size() * (self.size - 1) // self.size
        return found.to(numbers.device)

    def wait(self) -> None:
        self.dist.barrier()


def exact_sums(group: Group, parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The sums of the tensors of all parts, of all workers, in double precision: the same bits whoever owns which part.

    Every worker gives the tensors of each of its own parts, by the same names and of the same shapes.
    """
    stacked = {name: torch.stack([one[name].detach().double() for one in parts]) for name in parts[0]}
    most = torch.stack(
        [torch.zeros((), dtype=torch.float64) if not x.numel() else x.abs().amax().cpu() for x in stacked.values()]
    )
    exponents = [_exponent(name, one) for name, one in zip(stacked, group.largest(most).tolist(), strict=True)]
    scaled = [
        torch.ldexp(numbers, torch.tensor(BITS - exponent, device=numbers.device)).round().long().sum(dim=0)
        for numbers, exponent in zip(stacked.values(), exponents, strict=True)
    ]
    whole = group.total(torch.cat([numbers.reshape(-1) for numbers in scaled])).split([one.numel() for one in scaled])
    found = {}
    for name, numbers, one, exponent in zip(stacked, whole, scaled, exponents, strict=True):
        found[name] = torch.ldexp(numbers.double(), torch.tensor(exponent - BITS, device=one.device)).reshape(one.shape)
    return found


def exact_sum(group: Group, parts: Sequence[Tensor]) -> Tensor:
    """As `exact_sums`, of one tensor of each part."""
    return exact_sums(group, [{"sum": one} for one in parts])["sum"]


def _exponent(name: str, most: float) -> int:
    if not math.isfinite(most):
        why = "lower the learning rate or scale the features"
        raise NotFinite(f"{name}: a gradient or a loss became NaN or infinite; {why}")
    return math.frexp(most)[1]
