"""A training pass through the heads of GVDN (Eq. 3 to 6, 9 to 11), over blocks of rows, with its gradient written out.

Between S X W and H_emb W_out every row is computed by itself. A block of rows fits into the cache of a processor, so
that memory is read and written once per pass and not once per operation; and of all that autograd would keep for every
row, S X W and the noise are enough. The buffers are allocated once and serve every epoch: they also become the
gradients. `Encoder.forward` says the same in plain operations, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from gvdn.nn.dropout import Dropout
from gvdn.nn.encoder import Encoder, Fallback
from gvdn.nn.row_steps import Mixed, Rate, Rows, Scales, Steps
from gvdn.nn.view import View

NUMBERS = {"cpu": 1 << 17, "cuda": 1 << 22}
"""How many numbers of width h a block has: what a processor's cache holds; on a GPU, what keeps all of it busy."""


class Losses(NamedTuple):
    """H_emb W_out with dropout on H_emb, and L_kl, L_df and L_nm; L_nm is 0 where nothing is matched."""

    Y: Float[Tensor, "n k"]
    kl: Float[Tensor, ""]
    df: Float[Tensor, ""]
    nm: Float[Tensor, ""]


@dataclass
class Match:
    """The stored embeddings of the nodes of a graph (Eq. 11), zeros where nothing is stored, and 1 where it is."""

    H_emb: Float[Tensor, "n h"]
    stored: Float[Tensor, "n 1"]

    def __post_init__(self) -> None:
        self.count = max(float(self.stored.sum()), 1.0)

    @classmethod
    def of_rows(cls, nodes: Int64[Tensor, " m"], fallback: Fallback) -> Match:
        """The stored embeddings that a fallback has, of these nodes."""
        stored = torch.zeros_like(fallback.weight).index_fill_(0, nodes, 1.0)
        return cls(fallback.H_emb, stored)

    def of(self, H_emb: Float[Tensor, "n h"]) -> tuple[Float[Tensor, "m h"], Float[Tensor, "m h"]]:
        """The stored embeddings, and those of the same nodes in this matrix."""
        nodes = self.stored[:, 0].nonzero()[:, 0]
        return self.H_emb[nodes], H_emb[nodes]


@dataclass
class HeadsPass:
    """The pass of one network over one view.

    Attributes:
        dropout: the rate, on S X and on H_emb.
        fallback: what is mixed into H_emb.
        match: what L_nm compares H_emb with.
    """

    network: Encoder
    view: View
    dropout: float = 0.0
    fallback: Fallback | None = None
    match: Match | None = None
    _buffers: dict[str, Tensor] = field(default_factory=dict)

    def __call__(self, rate: Float[Tensor, "2"], generator: Generator) -> Losses:
        """The losses of the current weights; `rate` has the factors of mu and of log sigma (Eq. 4).

        The backward pass leaves the gradient of W_z in it; the others go the way of autograd.
        """
        network, (n, h) = self.network, self._shape
        dropout = Dropout(self.dropout, generator)
        self._rate = Rate(*rate)
        if self.view.SX is None:
            A = network.heads.features(self.view, dropout)
            self._buffers["A"] = A.detach()
        else:
            A = self._buffer("A", n, 3 * h)
            if self.dropout:
                dropout.left(self._buffer("left of SX", *self.view.SX.shape, dtype=torch.bool))
        self._buffer("eps", n, h).normal_(generator=generator)
        if self.dropout:
            dropout.left(self._buffer("left of H_emb", n, h, dtype=torch.bool))
        return Losses(*_Pass.apply(A, network.heads.W, network.out.W, self))  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def inferred(self, rate: Float[Tensor, "2"], *, again: bool = False) -> Float[Tensor, "n k"]:
        """H_emb W_out with eps = 0; with `again`, from S X W of the last training pass, if that had no dropout."""
        network, SX, (n, h) = self.network, self.view.SX, self._shape
        W, Y = network.heads.W[:, : 2 * h], self._buffer("inferred", n, network.out.W.shape[1])
        again = again and not self.dropout
        A = self._buffers["A"] if again else self.view.aggregate(W) if SX is None else None
        for at in self._blocks():
            if A is None:
                assert SX is not None
                rows = torch.mm(SX[at], W, out=self._block("inferred A", at, 2 * h))
            else:
                rows = A[at]
            H_emb = self._block("H_emb", at)
            self._steps.inferred(self._rows(at, rows), Rate(*rate), H_emb)
            torch.mm(H_emb, network.out.W, out=Y[at])
        return Y

    # ---- the two passes over the blocks

    def forward(self, A: Float[Tensor, "n hhh"], W: Tensor, W_out: Tensor) -> tuple[Tensor, ...]:
        """Y and the three losses."""
        (n, h), device = self._shape, A.device
        Y, sums = self._buffer("Y", n, W_out.shape[1]), torch.zeros(3, dtype=torch.float64, device=device)
        scaled = W * Dropout(self.dropout).scale if self.dropout and self.view.SX is not None else W
        for at in self._blocks():
            if self.view.SX is not None:
                torch.mm(self._features(at), scaled, out=A[at])
            H_emb = self._block("H_emb", at)
            sums += self._steps.forward(self._rows(at, A[at]), self._rate, H_emb)
            torch.mm(H_emb, W_out, out=Y[at])
        sizes = (2 * n * h, n * h, self._matched * h)
        return Y.detach(), *((total / size).float() for total, size in zip(sums, sizes, strict=True))

    def backward(
        self, A: Float[Tensor, "n hhh"], W_out: Tensor, into: Float[Tensor, "n k"], scales: tuple[Tensor, ...]
    ) -> tuple[Tensor | None, Tensor]:
        """The gradients of W (where S X is given) and of W_out; A becomes its own gradient, and eps that of W_z."""
        (n, h), SX, W_z = self._shape, self.view.SX, self.network.W_z
        sizes = (n * h, n * h / 2, self._matched * h / 2)
        by = Scales(*(scale / size for scale, size in zip(scales, sizes, strict=True)))
        of_W = None if SX is None else torch.zeros(SX.shape[1], 3 * h, device=A.device)
        of_W_out = torch.zeros_like(W_out)
        for at in self._blocks():
            g = torch.mm(into[at], W_out.T, out=self._block("g", at))
            H_emb = self._steps.backward(self._rows(at, A[at]), self._rate, by, g)
            of_W_out.addmm_(H_emb.T, into[at])
            if of_W is not None:
                of_W.addmm_(self._features(at, again=self._block_size == n).T, A[at])
        if of_W is not None and self.dropout:
            of_W *= Dropout(self.dropout).scale
        if W_z.requires_grad:
            W_z.grad = self._buffers["eps"]
        return of_W, of_W_out

    # ---- blocks and buffers

    def _rows(self, at: slice, A: Tensor) -> Rows:
        left, scale = self._buffers.get("left of H_emb"), Dropout(self.dropout).scale
        stored, match = self.fallback, self.match
        return Rows(
            A,
            self._buffers["eps"][at],
            self.network.W_z.detach()[at],
            None if left is None else left[at],
            scale,
            None if stored is None else Mixed(stored.H_emb[at], stored.weight[at]),
            None if match is None else Mixed(match.H_emb[at], match.stored[at]),
        )

    def _features(self, at: slice, *, again: bool = False) -> Float[Tensor, "b d"]:
        """The rows of S X, those entries 0 that dropout takes; W has the factor of the others.

        `again` for the rows of the last block, which are still there.
        """
        assert self.view.SX is not None
        X = self.view.SX[at]
        if not self.dropout:
            return X
        out = self._block("X", at, X.shape[1])
        if again:
            return out
        return torch.mul(X, self._buffers["left of SX"][at], out=out)

    @cached_property
    def _steps(self) -> Any:
        device = self.network.W_z.device
        return steps_on(device)(self._block_size, self.network.hidden, device)

    @property
    def _matched(self) -> float:
        return 1.0 if self.match is None else self.match.count

    @property
    def _shape(self) -> tuple[int, int]:
        return self.view.num_nodes, self.network.hidden

    @property
    def _block_size(self) -> int:
        n, h = self._shape
        return min(max(NUMBERS[self.network.W_z.device.type] // h, 1), n)

    def _blocks(self) -> Iterator[slice]:
        n, size = self.view.num_nodes, self._block_size
        return (slice(start, min(start + size, n)) for start in range(0, n, size))

    def _buffer(self, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """A tensor that is allocated once."""
        found = self._buffers.get(name)
        if found is None:
            found = self._buffers[name] = torch.empty(shape, dtype=dtype, device=self.network.W_z.device)
        return found

    def _block(self, name: str, at: slice, width: int | None = None) -> Tensor:
        """A tensor for a block, which the next block uses again."""
        return self._buffer(f"block of {name}", self._block_size, width or self.network.hidden)[: at.stop - at.start]


def steps_on(device: torch.device) -> Any:
    """What computes a block on a device: one kernel per step where that works, torch's operations otherwise."""
    if device.type == "cuda":
        try:
            from gvdn.nn import row_kernels
        except ImportError:
            return Steps
        return row_kernels.Kernels if row_kernels.work(device) else Steps
    return Steps


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, A: Tensor, W: Tensor, W_out: Tensor, made: HeadsPass) -> tuple[Tensor, ...]:
        ctx.made, ctx.A, ctx.W_out = made, A.detach(), W_out.detach()
        return made.forward(ctx.A, W.detach(), ctx.W_out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor, None]:
        of_W, of_W_out = ctx.made.backward(ctx.A, ctx.W_out, gradients[0].contiguous(), gradients[1:])
        return (ctx.A if of_W is None else None), of_W, of_W_out, None
