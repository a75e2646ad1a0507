"""`row_steps` in one kernel each, by Triton, for GPUs: every number of a block is read and written once.

Triton comes with torch's builds for GPUs and needs a C compiler when a kernel is first used. Where either is missing,
`row_steps` is used there too: more kernels, the same numbers.
"""

# Names of tensors stand for pointers here. A flag that is False leaves out what belongs to it, and its pointers are
# those of another tensor.

import functools

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from gvdn.nn.encoder import LOG_SIGMA_MAX
from gvdn.nn.row_steps import Rate, Rows, Scales

BLOCK = 1024
TOP = tl.constexpr(LOG_SIGMA_MAX)


@triton.jit
def _expm1(x):
    """e^x - 1 for x >= 0, exact to rounding where x is next to 0, as it is once a head has collapsed."""
    return tl.where(x < 0.01, x * (1 + x * (0.5 + x * (1 / 6))), tl.exp(x) - 1)


@triton.jit
def _heads(A, at, row, column, hidden, stride, there):
    """H, mu and log sigma, before ReLU and bound."""
    start = row * stride + column
    H = tl.load(A + start, mask=there, other=0.0)
    mu = tl.load(A + start + hidden, mask=there, other=0.0)
    log_sigma = tl.load(A + start + 2 * hidden, mask=there, other=0.0)
    return start, H, mu, log_sigma


@triton.jit
def _forward(
    A, eps, W_z, left, fallback, fallback_weight, match, matched, mean, noise, H_emb, sums, size, hidden, scale,
    DROPS: tl.constexpr, FALLS_BACK: tl.constexpr, MATCHES: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    at = program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = at < size
    row, column = at // hidden, at % hidden
    _, H, mu, log_sigma = _heads(A, at, row, column, hidden, 3 * hidden, there)
    H, mu, log_sigma = tl.maximum(H, 0.0), tl.maximum(mu, 0.0), tl.minimum(tl.maximum(log_sigma, 0.0), TOP)
    drawn = tl.load(eps + at, mask=there, other=0.0)
    w = tl.load(W_z + at, mask=there, other=0.0)
    Z = tl.load(mean) * mu + drawn * tl.exp(tl.load(noise) * log_sigma)
    made = H + w * (Z - H)
    if FALLS_BACK:
        stored = tl.load(fallback + at, mask=there, other=0.0)
        made += tl.load(fallback_weight + row, mask=there, other=0.0) * (stored - made)
    kl = mu * mu + _expm1(2 * log_sigma) - 2 * log_sigma
    df = (Z - drawn) * (Z - drawn)
    tl.store(sums + program * 3, tl.sum(tl.where(there, kl, 0.0)))
    tl.store(sums + program * 3 + 1, tl.sum(tl.where(there, df, 0.0)))
    nm = tl.zeros_like(made)
    if MATCHES:
        away = tl.load(matched + row, mask=there, other=0.0) * (made - tl.load(match + at, mask=there, other=0.0))
        nm = away * away
    tl.store(sums + program * 3 + 2, tl.sum(tl.where(there, nm, 0.0)))
    if DROPS:
        made = tl.where(tl.load(left + at, mask=there, other=0) != 0, made * scale, 0.0)
    tl.store(H_emb + at, made, mask=there)


@triton.jit
def _inferred(
    A, W_z, fallback, fallback_weight, mean, H_emb, size, hidden, stride, FALLS_BACK: tl.constexpr, SIZE: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = at < size
    row, column = at // hidden, at % hidden
    start = row * stride + column
    H = tl.maximum(tl.load(A + start, mask=there, other=0.0), 0.0)
    mu = tl.maximum(tl.load(A + start + hidden, mask=there, other=0.0), 0.0)
    made = H + tl.load(W_z + at, mask=there, other=0.0) * (tl.load(mean) * mu - H)
    if FALLS_BACK:
        stored = tl.load(fallback + at, mask=there, other=0.0)
        made += tl.load(fallback_weight + row, mask=there, other=0.0) * (stored - made)
    tl.store(H_emb + at, made, mask=there)


@triton.jit
def _backward(
    A, eps, W_z, left, fallback, fallback_weight, match, matched, mean, noise, by_kl, by_df, by_nm, G, size, hidden,
    scale, DROPS: tl.constexpr, FALLS_BACK: tl.constexpr, MATCHES: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = at < size
    row, column = at // hidden, at % hidden
    start, raw_H, raw_mu, raw_sigma = _heads(A, at, row, column, hidden, 3 * hidden, there)
    H, mu, log_sigma = tl.maximum(raw_H, 0.0), tl.maximum(raw_mu, 0.0), tl.minimum(tl.maximum(raw_sigma, 0.0), TOP)
    drawn = tl.load(eps + at, mask=there, other=0.0)
    w = tl.load(W_z + at, mask=there, other=0.0)
    spread = drawn * tl.exp(tl.load(noise) * log_sigma)
    Z = tl.load(mean) * mu + spread
    made = H + w * (Z - H)
    g = tl.load(G + at, mask=there, other=0.0)
    remains = tl.full(made.shape, 1.0, tl.float32)
    if DROPS:
        remains = tl.where(tl.load(left + at, mask=there, other=0) != 0, scale, 0.0)
        g *= remains
    share = tl.zeros_like(made)
    if FALLS_BACK:
        share = tl.load(fallback_weight + row, mask=there, other=0.0)
        made += share * (tl.load(fallback + at, mask=there, other=0.0) - made)
    if MATCHES:
        away = tl.load(matched + row, mask=there, other=0.0) * (made - tl.load(match + at, mask=there, other=0.0))
        g += tl.load(by_nm) * away
    g *= 1 - share
    of_Z = g * w + tl.load(by_df) * (Z - drawn)
    of_mu = tl.load(mean) * of_Z + tl.load(by_kl) * mu
    of_sigma = tl.load(noise) * spread * of_Z + tl.load(by_kl) * _expm1(2 * log_sigma)
    tl.store(A + start, tl.where(raw_H > 0, g * (1 - w), 0.0), mask=there)
    tl.store(A + start + hidden, tl.where(raw_mu > 0, of_mu, 0.0), mask=there)
    held = (raw_sigma <= 0) | (raw_sigma >= TOP)
    tl.store(A + start + 2 * hidden, tl.where(held, 0.0, of_sigma), mask=there)
    tl.store(eps + at, g * (Z - H), mask=there)
    tl.store(G + at, made * remains, mask=there)


class Kernels:
    """The three steps over a block, as `row_steps.Steps` has them."""

    def __init__(self, size: int, hidden: int, device: torch.device) -> None:
        self._sums = torch.empty(triton.cdiv(size * hidden, BLOCK), 3, device=device)

    def forward(self, rows: Rows, rate: Rate, H_emb: Float[Tensor, "b h"]) -> Float[Tensor, "3"]:
        programs, given, flags = self._of(rows, H_emb)
        sums = self._sums[:programs]
        _forward[(programs,)](*given, *rate, H_emb, sums, H_emb.numel(), H_emb.shape[1], rows.scale, **flags)
        return sums.sum(dim=0, dtype=torch.float64)

    def inferred(self, rows: Rows, rate: Rate, H_emb: Float[Tensor, "b h"]) -> None:
        programs, (A, _, W_z, _, fallback, weight, _, _), flags = self._of(rows, H_emb)
        _inferred[(programs,)](
            A, W_z, fallback, weight, rate.mean, H_emb, H_emb.numel(), H_emb.shape[1], A.shape[1],
            FALLS_BACK=flags["FALLS_BACK"], SIZE=BLOCK,
        )  # fmt: skip

    def backward(self, rows: Rows, rate: Rate, by: Scales, g: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        programs, given, flags = self._of(rows, g)
        _backward[(programs,)](*given, *rate, *by, g, g.numel(), g.shape[1], rows.scale, **flags)
        return g

    def _of(self, rows: Rows, like: Tensor) -> tuple[int, tuple[Tensor, ...], dict[str, bool | int]]:
        """Programs, pointers and flags of a launch."""
        left = like if rows.left is None else rows.left.view(torch.uint8)
        fallback, match = rows.fallback or (like, like), rows.match or (like, like)
        flags = {
            "DROPS": rows.left is not None,
            "FALLS_BACK": rows.fallback is not None,
            "MATCHES": rows.match is not None,
            "SIZE": BLOCK,
        }
        return triton.cdiv(like.numel(), BLOCK), (rows.A, rows.eps, rows.W_z, left, *fallback, *match), flags


@functools.cache
def work(device: torch.device) -> bool:
    """Whether the kernels can be compiled and run on this device."""
    try:
        A, eps, W_z = (torch.zeros(1, width, device=device) for width in (3, 1, 1))
        rows = Rows(A, eps, W_z)
        zero = torch.zeros((), device=device)
        Kernels(1, 1, device).forward(rows, Rate(zero, zero), torch.empty(1, 1, device=device))
        torch.cuda.synchronize(device)
    except Exception:  # of many kinds: no compiler, no driver, a GPU that is too old
        return False
    return True
