"""The optimizer of all methods."""

from collections.abc import Iterable
from typing import Any

import torch


def adam(parameters: Iterable[Any], device: torch.device, **settings: float) -> torch.optim.Adam:
    """Adam in one kernel; on a GPU its steps are counted there, so that they can be recorded."""
    if device.type == "cuda":
        try:
            from gvdn.training import adam_kernel
        except ImportError:  # torch's builds without Triton
            pass
        else:
            if adam_kernel.works(device):
                return adam_kernel.KernelAdam(parameters, capturable=True, **settings)  # type: ignore[arg-type]
    return torch.optim.Adam(parameters, fused=True, capturable=device.type == "cuda", **settings)  # type: ignore[arg-type]
