"""Independent pieces of work on the threads that torch may use."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

MOST = 4
"""Threads at most: more of them wait for Python's lock."""


def each(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The result of every item, in their order, the same as one after the other.

    The work consists of large operations of NumPy and torch, which let other threads run meanwhile. The threads share
    what `torch.set_num_threads` allows, so that with one thread nothing is done in parallel.
    """
    allowed = torch.get_num_threads()
    workers = min(MOST, allowed, len(items))
    if workers < 2:
        return [work(one) for one in items]
    try:
        with ThreadPoolExecutor(workers, initializer=partial(torch.set_num_threads, allowed // workers)) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(allowed)


def one_at_a_time(work: Callable[[T], R]) -> Callable[[T], R]:
    """The function, which a second thread waits for: a method need not be able to answer several graphs at once."""
    lock = Lock()

    def locked(item: T) -> R:
        with lock:
            return work(item)

    return locked
