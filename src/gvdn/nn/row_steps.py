"""What happens to a block of rows in the heads of GVDN (Eq. 4 to 6, 9 to 11), in torch's operations.

Every function writes into tensors that it is given: a block is small enough to stay in a processor's cache, and none of
it is allocated anew. `row_kernels` does the same in one kernel each, for GPUs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gvdn.nn.encoder import LOG_SIGMA_MAX


class Rate(NamedTuple):
    """The factors of mu and of log sigma in this iteration (Eq. 4), on the device."""

    mean: Float[Tensor, ""]
    noise: Float[Tensor, ""]


class Scales(NamedTuple):
    """The gradients of L_kl, L_df and L_nm, over the number of terms that each is the mean of."""

    kl: Float[Tensor, ""]
    df: Float[Tensor, ""]
    nm: Float[Tensor, ""]


class Mixed(NamedTuple):
    """Stored embeddings, and a number for each row: their weight in H_emb, or whether L_nm compares with them."""

    H_emb: Float[Tensor, "b h"]
    weight: Float[Tensor, "b 1"]


@dataclass(frozen=True)
class Rows:
    """A block of rows.

    Attributes:
        A: S X W of the three heads side by side; becomes its own gradient.
        eps: the noise; becomes the gradient of W_z.
        left: which entries of H_emb dropout leaves.
        scale: the factor of those entries.
    """

    A: Float[Tensor, "b hhh"]
    eps: Float[Tensor, "b h"]
    W_z: Float[Tensor, "b h"]
    left: Bool[Tensor, "b h"] | None = None
    scale: float = 1.0
    fallback: Mixed | None = None
    match: Mixed | None = None


SCRATCH = ("sigma", "Z", "of_Z", "H_emb", "t")


class Steps:
    """The three steps over a block of at most `size` rows."""

    def __init__(self, size: int, hidden: int, device: torch.device) -> None:
        self._scratch = {name: torch.empty(size, hidden, device=device) for name in SCRATCH}

    def forward(self, rows: Rows, rate: Rate, H_emb: Float[Tensor, "b h"]) -> Float[Tensor, "3"]:
        """H_emb with dropout; returns the sums of mu^2 + sigma^2 - 1 - 2 log sigma, of L_df and of L_nm."""
        rows.A.relu_()
        _, mu, log_sigma = rows.A.chunk(3, dim=1)
        log_sigma.clamp_(max=LOG_SIGMA_MAX)
        _, Z = self._embedded(rows, rate, H_emb)
        t = self._block("t", H_emb)
        kl = torch.mul(log_sigma, 2, out=t).expm1_().sub_(log_sigma, alpha=2).addcmul_(mu, mu).sum()
        df = torch.sub(Z, rows.eps, out=t).square_().sum()
        nm = torch.zeros_like(df) if rows.match is None else self._distance(rows.match, H_emb).square_().sum()
        self._drop(rows, H_emb)
        return torch.stack([kl, df, nm])

    def inferred(self, rows: Rows, rate: Rate, H_emb: Float[Tensor, "b h"]) -> None:
        """H_emb with eps = 0; A may have the first two heads only."""
        hidden = H_emb.shape[1]
        H, mu = (rows.A[:, start : start + hidden] for start in (0, hidden))
        mean = torch.mul(mu, rate.mean, out=self._block("Z", H_emb)).clamp_(min=0)
        torch.lerp(torch.clamp(H, min=0, out=H_emb), mean, rows.W_z, out=H_emb)
        if rows.fallback is not None:
            H_emb.lerp_(*rows.fallback)

    def backward(self, rows: Rows, rate: Rate, by: Scales, g: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        """A and eps become gradients, given that of H_emb with dropout, g; returns that H_emb, and g is used up."""
        H, mu, log_sigma = rows.A.chunk(3, dim=1)
        H_emb, t, of_Z = (self._block(name, g) for name in ("H_emb", "t", "of_Z"))
        sigma, Z = self._embedded(rows, rate, H_emb)
        self._drop(rows, g)
        if rows.match is not None:
            g.addcmul_(self._distance(rows.match, H_emb), by.nm)
        if rows.fallback is not None:
            g.mul_(1 - rows.fallback.weight)
        torch.mul(g, rows.W_z, out=of_Z).addcmul_(torch.sub(Z, rows.eps, out=t), by.df)
        sigma.mul_(rows.eps).mul_(of_Z).mul_(rate.noise)
        sigma.addcmul_(torch.mul(log_sigma, 2, out=t).expm1_(), by.kl)
        torch.mul(Z.sub_(H), g, out=rows.eps)
        _within(sigma, log_sigma, LOG_SIGMA_MAX)
        _within(of_Z.mul_(rate.mean).addcmul_(mu, by.kl), mu)
        _within(g.sub_(torch.mul(g, rows.W_z, out=t)), H)
        self._drop(rows, H_emb)
        return H_emb

    def _embedded(self, rows: Rows, rate: Rate, H_emb: Float[Tensor, "b h"]) -> tuple[Tensor, Tensor]:
        """sigma and Z of a block, and its H_emb before dropout (Eq. 4 to 6), given heads after their ReLU."""
        H, mu, log_sigma = rows.A.chunk(3, dim=1)
        sigma = torch.mul(log_sigma, rate.noise, out=self._block("sigma", H_emb)).exp_()
        Z = torch.mul(mu, rate.mean, out=self._block("Z", H_emb)).addcmul_(rows.eps, sigma)
        torch.lerp(H, Z, rows.W_z, out=H_emb)
        if rows.fallback is not None:
            H_emb.lerp_(*rows.fallback)
        return sigma, Z

    def _distance(self, match: Mixed, H_emb: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        return torch.sub(H_emb, match.H_emb, out=self._block("t", H_emb)).mul_(match.weight)

    def _drop(self, rows: Rows, H: Float[Tensor, "b h"]) -> None:
        if rows.left is not None:
            H.mul_(rows.left).mul_(rows.scale)

    def _block(self, name: str, like: Tensor) -> Tensor:
        return self._scratch[name][: len(like)]


def _within(gradient: Tensor, value: Tensor, top: float = float("inf")) -> None:
    """Replace a value by its gradient, which is 0 where ReLU or the upper bound holds it."""
    torch.ops.aten.hardtanh_backward.grad_input(gradient, value, 0.0, top, grad_input=value)
