"""Dropout whose draws come from a generator that is handed in."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class Dropout(NamedTuple):
    """Each entry is zeroed with probability `rate` and scaled up by 1 / (1 - rate) otherwise."""

    rate: float = 0.0
    generator: torch.Generator | None = None
    """On the device of the tensors; needed where the rate is above 0."""

    def __call__(self, H: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if self.rate == 0:
            return H
        assert self.generator is not None, "dropout needs a generator"
        factors = torch.empty_like(H, memory_format=torch.contiguous_format)
        return H * factors.bernoulli_(1 - self.rate, generator=self.generator).div_(1 - self.rate)


NO_DROPOUT = Dropout()


def normal_like(H: Float[Tensor, "*shape"], generator: torch.Generator | None) -> Float[Tensor, "*shape"]:
    """Standard normal numbers of the shape of a tensor and on its device."""
    assert generator is not None, "noise needs a generator"
    return torch.randn(H.shape, generator=generator, device=H.device, dtype=H.dtype)
