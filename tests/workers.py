"""Workers as threads of one process, for tests: the same functions as torch.distributed, and nothing else of it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor


class _Board:
    """What all workers can see: a place for each to leave something, and a barrier."""

    def __init__(self, size: int) -> None:
        self.barrier, self.left = threading.Barrier(size, timeout=60), [None] * size


class Threaded:
    """One of several workers that are threads."""

    def __init__(self, rank: int, board: _Board) -> None:
        self.rank, self.size, self.board, self.sent = rank, len(board.left), board, 0

    def _shared(self, mine: Any) -> list[Any]:
        """What every worker gave, the same list for all."""
        self.board.left[self.rank] = mine
        self.board.barrier.wait()
        every = list(self.board.left)
        self.board.barrier.wait()
        return every

    def swap(self, outgoing: list[Tensor], incoming: list[int]) -> list[Tensor]:
        self.sent += sum(one.numel() * one.element_size() for rank, one in enumerate(outgoing) if rank != self.rank)
        found = [messages[self.rank].clone() for messages in self._shared(outgoing)]
        assert [len(one) for one in found] == incoming
        return found

    def largest(self, numbers: Tensor) -> Tensor:
        return torch.stack(self._shared(numbers)).amax(dim=0)

    def total(self, numbers: Tensor) -> Tensor:
        assert not numbers.is_floating_point(), "the order would matter"
        return torch.stack(self._shared(numbers)).sum(dim=0)

    def wait(self) -> None:
        self._shared(None)


def in_threads(work: Callable[[Threaded], Any], size: int) -> list[Any]:
    """What each of so many workers returns; the first error, if there is one."""
    board = _Board(size)

    def guarded(rank: int) -> Any:
        try:
            return work(Threaded(rank, board))
        except BaseException:
            board.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(guarded, rank) for rank in range(size)]
    errors = [problem for future in futures if (problem := future.exception()) is not None]
    for problem in errors:
        if not isinstance(problem, threading.BrokenBarrierError):
            raise problem
    return [future.result() for future in futures]
