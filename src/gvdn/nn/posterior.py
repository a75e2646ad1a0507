"""The distribution of the hidden representation, and what Gaussian diffusion does to it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from gvdn.nn.schedule import Rate


class Posterior(NamedTuple):
    """q(Z | A, X) = N(mu, sigma^2), one Gaussian per node and dimension."""

    mu: Float[Tensor, "n h"]
    log_sigma: Float[Tensor, "n h"]

    def diffuse(self, rate: Rate) -> Posterior:
        """mu * sqrt(Gamma), log_sigma * sqrt(1 - Gamma) (Eq. 4)."""
        return Posterior(rate.mean * self.mu, rate.noise * self.log_sigma)

    def sample(self, eps: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        """Z = mu + eps * sigma (Eq. 5)."""
        return self.mu + eps * self.log_sigma.exp()
