"""Dropout whose draws come from a generator that is handed in."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LEVELS = 1 << 16


class Dropout(NamedTuple):
    """Each entry is zeroed with probability `rate` and scaled up by 1 / (1 - rate) otherwise."""

    rate: float = 0.0
    generator: torch.Generator | None = None
    """On the device of the tensors; needed where the rate is above 0."""

    def __call__(self, H: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if self.rate == 0:
            return H
        return (H * self.left(torch.empty(H.shape, dtype=torch.bool, device=H.device))).mul_(self.scale)

    @property
    def scale(self) -> float:
        return 1 / (1 - self.rate)

    def left(self, out: Bool[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
        """Draw which entries are left, into this tensor.

        On a CPU one draw of 64 bits serves four entries, so that the rate is rounded to a multiple of 2^-16: eight
        times as fast as torch's own draw, which takes more time there than the product that follows.
        """
        assert self.generator is not None, "dropout needs a generator"
        if out.is_cuda:
            return out.bernoulli_(1 - self.rate, generator=self.generator)
        whole = torch.empty(-(-out.numel() // 4), dtype=torch.int64).random_(-(2**63), None, generator=self.generator)
        level = min(round((1 - self.rate) * LEVELS), LEVELS - 1) - LEVELS // 2
        return torch.lt(whole.view(torch.int16)[: out.numel()].view(out.shape), level, out=out)


NO_DROPOUT = Dropout()


def normal_like(H: Float[Tensor, "*shape"], generator: torch.Generator | None) -> Float[Tensor, "*shape"]:
    """Standard normal numbers of the shape of a tensor and on its device."""
    assert generator is not None, "noise needs a generator"
    return torch.randn(H.shape, generator=generator, device=H.device, dtype=H.dtype)
