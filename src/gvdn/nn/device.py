"""Devices by name, and what holds for all of them."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from gvdn.errors import InvalidInput


def usable_device(name: str) -> torch.device:
    """The device of this name, if this machine has it."""
    try:
        device = torch.device(name)
    except RuntimeError as problem:
        raise InvalidInput(f"expected a device such as cpu, cuda or cuda:1, got {name!r}") from problem
    if device.type not in ("cpu", "cuda"):
        raise InvalidInput(f"expected a device such as cpu, cuda or cuda:1, got {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InvalidInput(f"this machine has no device {name}; it has {torch.cuda.device_count()} GPUs, and cpu")
    return device


_FILTERS = Lock()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Torch's warnings are not shown meanwhile; one thread at a time, since the filters of warnings are shared."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def read_only(array: np.ndarray) -> Tensor:
    """A tensor in the memory of an array, which nobody may write to; torch's warning that it could be is suppressed."""
    with without_warnings():
        return torch.from_numpy(array)


def make_reproducible() -> None:
    """From now on a GPU adds in a fixed order: the same GPU and versions give the same bits every time.

    It is torch's own switch, and must come before the first product on a GPU. Sparse products, which otherwise add in
    whatever order their threads end, are then those of a CPU (`SparseMatrix`); `docs/speed.md` has the price.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
