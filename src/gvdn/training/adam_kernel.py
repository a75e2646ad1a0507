"""A step of Adam (Kingma and Ba, ICLR 2015) in one small kernel per parameter, by Triton, for GPUs.

Torch's fused step gives 65,536 numbers to each of its blocks of threads, so that the weights of a small graph leave
most of a GPU idle: two million weights take it four times as long as this one on an H200.
"""

import functools
import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _one_minus_exp(x):
    """1 - e^-x for x >= 0, without cancellation where x is small, as it is in the first steps."""
    return tl.where(x < 0.01, x * (1 - x * (0.5 - x * (1 / 6))), 1 - tl.exp(-x))


@triton.jit
def _step(
    weights, gradient, mean, square, steps, size, lr, decay, keep, log_1, keep_square, log_2, eps, SIZE: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = at < size
    t = tl.load(steps)
    w = tl.load(weights + at, mask=there, other=0.0)
    g = tl.load(gradient + at, mask=there, other=0.0) + decay * w
    m = tl.load(mean + at, mask=there, other=0.0)
    v = tl.load(square + at, mask=there, other=0.0)
    m += (1 - keep) * (g - m)
    v = keep_square * v + (1 - keep_square) * g * g
    tl.store(mean + at, m, mask=there)
    tl.store(square + at, v, mask=there)
    root = tl.sqrt(v) / tl.sqrt(_one_minus_exp(t * log_2)) + eps
    tl.store(weights + at, w - lr / _one_minus_exp(t * log_1) * m / root, mask=there)


class KernelAdam(torch.optim.Adam):
    """Torch's Adam with another step; its settings, its state and the names in it are torch's."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            given = [one for one in group["params"] if one.grad is not None]
            if not given:
                continue
            states = [self._state(one) for one in given]
            torch._foreach_add_([state["step"] for state in states], 1.0)
            for weights, state in zip(given, states, strict=True):
                _launch(weights, weights.grad.contiguous(), state, group)

    def _state(self, weights: Tensor) -> dict[str, Tensor]:
        state = self.state[weights]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=weights.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weights), torch.zeros_like(weights)
        return state


def _launch(weights: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    beta_1, beta_2 = group["betas"]
    _step[(triton.cdiv(weights.numel(), BLOCK),)](
        weights, gradient, state["exp_avg"], state["exp_avg_sq"], state["step"], weights.numel(), group["lr"],
        group["weight_decay"], beta_1, -math.log(beta_1), beta_2, -math.log(beta_2), group["eps"], SIZE=BLOCK,
    )  # fmt: skip


@functools.cache
def works(device: torch.device) -> bool:
    """Whether the kernel can be compiled and run on this device."""
    try:
        weights = torch.zeros(1, device=device, requires_grad=True)
        weights.grad = torch.ones(1, device=device)
        KernelAdam([weights], lr=1.0).step()
        return abs(float(weights.detach()) + 1.0) < 1e-3
    except Exception:  # of many kinds: no compiler, no driver, a GPU that is too old
        return False
