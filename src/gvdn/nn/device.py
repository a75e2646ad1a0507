"""Devices by name."""

import torch

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
