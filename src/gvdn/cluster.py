"""Ray, where more than one machine works: found, started and ended again; scheduling and retrying are its own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from gvdn.errors import InvalidInput

ENGINES = ("local", "ray")
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600",
}
"""What a Ray that is started here is told, where the environment says nothing else: nothing is reported to Ray's
makers, no GPU is hidden from this process, and workers have time to import torch on a machine that is busy."""
STORE = 128 * 2**20
"""Bytes of the object store of a Ray that is started here; what workers on parts exchange does not go through it."""


def require_engine(name: str) -> None:
    """Raise unless there is an engine of this name, and it is installed."""
    if name not in ENGINES:
        raise InvalidInput(f"expected one of {', '.join(ENGINES)} as engine, got {name!r}")
    if name == "ray" and find_spec("ray") is None:
        raise InvalidInput("the engine ray needs Ray, which is not installed; pip install 'gvdn[cluster]'")


@contextmanager
def ray_session(address: str | None = None, cpus: int = 1, store: int = STORE) -> Iterator[Any]:
    """Ray: the one that this process is joined to, the cluster at an address, or one that is started here and ended.

    Args:
        cpus: how many CPUs a Ray that is started here says that it has.
        store: bytes of its object store.
    """
    require_engine("ray")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            ray.init(num_cpus=cpus, include_dashboard=False, object_store_memory=store, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as problem:
        where, why = address or "this machine", (str(problem).splitlines() or ["?"])[0]
        raise InvalidInput(f"there is no Ray to join at {where} ({why}); start one with ray start") from problem
    try:
        yield ray
    finally:
        ray.shutdown()
