"""A training pass through the heads of GVDN (Eq. 3 to 6, 9 to 11), over blocks of rows, with its gradient written out.

Between S X W and H_emb W_out every row is computed by itself. A block of rows fits into the cache of a processor, so
that memory is read and written once per pass and not once per operation; and of all that autograd would keep for every
row, S X W and the noise are enough. The buffers are allocated once and serve every epoch: they also become the
gradients. `Encoder.forward` says the same in plain operations, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from gvdn.nn.dropout import Dropout
from gvdn.nn.encoder import LOG_SIGMA_MAX, Encoder, Fallback
from gvdn.nn.view import View

NUMBERS = {"cpu": 1 << 17, "cuda": 1 << 23}
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
        self.count = float(self.stored.sum())

    @classmethod
    def of_rows(cls, nodes: Int64[Tensor, " m"], fallback: Fallback) -> "Match":
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
        self._rate = rate
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
        """H_emb W_out with eps = 0; with `again`, from S X W of the last training pass, which had no dropout."""
        network, view, (n, h) = self.network, self.view, self._shape
        W, Y = network.heads.W[:, : 2 * h], self._buffer("inferred", n, network.out.W.shape[1])
        again = again and not self.dropout
        A = self._buffers["A"] if again else None if view.SX is not None else view.aggregate(W)
        for rows in self._blocks():
            if A is None:
                assert view.SX is not None
                a = torch.mm(view.SX[rows], W, out=self._block("inferred A", rows, 2 * h)).relu_()
            else:
                a = A[rows] if again else A[rows].relu_()
            H, mu = a[:, :h], a[:, h : 2 * h]
            H_emb = self._block("H_emb", rows)
            torch.lerp(H, torch.mul(mu, rate[0], out=self._block("Z", rows)), network.W_z[rows], out=H_emb)
            torch.mm(self._mixed_with_stored(H_emb, rows), network.out.W, out=Y[rows])
        return Y

    # ---- the two passes over the blocks

    def forward(self, A: Float[Tensor, "n hhh"], W: Tensor, W_out: Tensor) -> tuple[Tensor, ...]:
        """Y and the three losses; A becomes H, mu and log sigma."""
        n, h = self._shape
        Y, sums = self._buffer("Y", n, W_out.shape[1]), torch.zeros(3, dtype=torch.float64, device=A.device)
        for rows in self._blocks():
            if self.view.SX is not None:
                torch.mm(self._features(rows), W, out=A[rows])
            A[rows].relu_()
            H, mu, log_sigma = A[rows].split(h, dim=1)
            log_sigma.clamp_(max=LOG_SIGMA_MAX)
            _, Z, H_emb = self._embedded(rows, H, mu, log_sigma)
            t = self._block("t", rows)
            kl = torch.mul(log_sigma, 2, out=t).expm1_().sub_(log_sigma, alpha=2).addcmul_(mu, mu).sum()
            eps = self._buffers["eps"][rows]
            df = torch.sub(Z, eps, out=t).square_().sum()
            nm = self._distance(rows, H_emb).square_().sum() if self.match is not None else torch.zeros_like(df)
            sums += torch.stack([kl, df, nm])
            torch.mm(self._dropped(rows, H_emb), W_out, out=Y[rows])
        matched = max(self.match.count, 1) if self.match is not None else 1
        sizes = (2 * n * h, n * h, matched * h)
        return Y.detach(), *((total / size).float() for total, size in zip(sums, sizes, strict=True))

    def backward(
        self, A: Float[Tensor, "n hhh"], W_out: Tensor, into: Float[Tensor, "n k"], scales: tuple[Tensor, ...]
    ) -> tuple[Tensor | None, Tensor]:
        """The gradients of W (where S X is given) and of W_out; A becomes its own gradient, and eps that of W_z."""
        (n, h), (mean, noise), W_z = self._shape, self._rate, self.network.W_z
        matched = max(self.match.count, 1) if self.match is not None else 1
        by_kl, by_df, by_nm = (
            scale / size for scale, size in zip(scales, (n * h, n * h / 2, matched * h / 2), strict=True)
        )
        SX = self.view.SX
        of_W = None if SX is None else torch.zeros(SX.shape[1], 3 * h, device=A.device)
        of_W_out = torch.zeros_like(W_out)
        for rows in self._blocks():
            H, mu, log_sigma = A[rows].split(h, dim=1)
            w, eps = W_z[rows], self._buffers["eps"][rows]
            sigma, Z, H_emb = self._embedded(rows, H, mu, log_sigma)
            g = torch.mm(into[rows], W_out.T, out=self._block("g", rows))
            g = self._dropped(rows, g)
            if self.match is not None:
                g.addcmul_(self._distance(rows, H_emb), by_nm)
            of_W_out.addmm_(self._dropped(rows, H_emb).T, into[rows])
            if self.fallback is not None:
                g.mul_(1 - self.fallback.weight[rows])
            t, of_Z = self._block("t", rows), H_emb  # H_emb is not needed any more
            torch.mul(g, w, out=of_Z).addcmul_(torch.sub(Z, eps, out=t), by_df)
            sigma.mul_(eps).mul_(of_Z).mul_(noise)
            sigma.addcmul_(torch.mul(log_sigma, 2, out=t).expm1_(), by_kl)
            if W_z.requires_grad:
                torch.mul(Z.sub_(H), g, out=eps)
            _within(sigma, log_sigma, LOG_SIGMA_MAX)
            _within(of_Z.mul_(mean).addcmul_(mu, by_kl), mu)
            _within(g.sub_(torch.mul(g, w, out=t)), H)
            if of_W is not None:
                of_W.addmm_(self._features(rows).T, A[rows])
        if W_z.requires_grad:
            W_z.grad = self._buffers["eps"]
        return of_W, of_W_out

    # ---- the steps that both have

    def _embedded(self, rows: slice, H: Tensor, mu: Tensor, log_sigma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """sigma, Z and H_emb of a block (Eq. 4 to 6)."""
        mean, noise = self._rate
        sigma = torch.mul(log_sigma, noise, out=self._block("sigma", rows)).exp_()
        Z = torch.mul(mu, mean, out=self._block("Z", rows)).addcmul_(self._buffers["eps"][rows], sigma)
        H_emb = torch.lerp(H, Z, self.network.W_z[rows], out=self._block("H_emb", rows))
        return sigma, Z, self._mixed_with_stored(H_emb, rows)

    def _mixed_with_stored(self, H_emb: Tensor, rows: slice) -> Tensor:
        if self.fallback is None:
            return H_emb
        return H_emb.lerp_(self.fallback.H_emb[rows], self.fallback.weight[rows])

    def _features(self, rows: slice) -> Tensor:
        """The rows of S X, with dropout."""
        assert self.view.SX is not None
        X = self.view.SX[rows]
        if not self.dropout:
            return X
        out = self._block("X", rows, X.shape[1])
        return torch.mul(X, self._buffers["left of SX"][rows], out=out).mul_(1 / (1 - self.dropout))

    def _dropped(self, rows: slice, H: Tensor) -> Tensor:
        """Dropout on a block of width h, in place."""
        return H.mul_(self._buffers["left of H_emb"][rows]).mul_(1 / (1 - self.dropout)) if self.dropout else H

    def _distance(self, rows: slice, H_emb: Tensor) -> Tensor:
        assert self.match is not None
        out = torch.sub(H_emb, self.match.H_emb[rows], out=self._block("t", rows))
        return out.mul_(self.match.stored[rows])

    # ---- blocks and buffers

    @property
    def _shape(self) -> tuple[int, int]:
        return self.view.num_nodes, self.network.hidden

    def _blocks(self) -> Iterator[slice]:
        n, h = self._shape
        size = max(NUMBERS[self.network.W_z.device.type] // h, 1)
        return (slice(start, min(start + size, n)) for start in range(0, n, size))

    def _buffer(self, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """A tensor that is allocated once."""
        found = self._buffers.get(name)
        if found is None:
            found = self._buffers[name] = torch.empty(shape, dtype=dtype, device=self.network.W_z.device)
        return found

    def _block(self, name: str, rows: slice, width: int | None = None) -> Tensor:
        """A tensor for a block, which the next block uses again."""
        n, h = self._shape
        size = min(max(NUMBERS[self.network.W_z.device.type] // h, 1), n)
        return self._buffer(f"block of {name}", size, width or h)[: rows.stop - rows.start]


def _within(gradient: Tensor, value: Tensor, top: float = float("inf")) -> None:
    """Replace a value by its gradient, which is 0 where ReLU or the upper bound holds it."""
    torch.ops.aten.hardtanh_backward.grad_input(gradient, value, 0.0, top, grad_input=value)


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, A: Tensor, W: Tensor, W_out: Tensor, made: HeadsPass) -> tuple[Tensor, ...]:
        ctx.made, ctx.A, ctx.W_out = made, A.detach(), W_out.detach()
        return made.forward(ctx.A, W.detach(), ctx.W_out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor, None]:
        of_W, of_W_out = ctx.made.backward(ctx.A, ctx.W_out, gradients[0].contiguous(), gradients[1:])
        return (ctx.A if of_W is None else None), of_W, of_W_out, None
