"""Gaussian diffusion: the schedule of its rates, and what a rate does to the hidden distribution (Eq. 4 and 5)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

GAMMA_MAX = 0.9999


class Rate(NamedTuple):
    """The factors of mu and of log sigma in one iteration (Eq. 4)."""

    mean: float
    noise: float


class Posterior(NamedTuple):
    """q(Z | A, X) = N(mu, sigma^2), one Gaussian per node and dimension."""

    mu: Float[Tensor, "n h"]
    log_sigma: Float[Tensor, "n h"]

    def diffuse(self, rate: Rate) -> "Posterior":
        """mu * sqrt(Gamma), log_sigma * sqrt(1 - Gamma) (Eq. 4)."""
        return Posterior(rate.mean * self.mu, rate.noise * self.log_sigma)

    def sample(self, eps: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        """Z = mu + eps * sigma (Eq. 5)."""
        return self.mu + eps * self.log_sigma.exp()


def diffusion_rates(T: int, gamma_min: float, gamma_max: float = GAMMA_MAX) -> Float[Tensor, " T"]:
    """Gamma_t, t = 1..T: the running product of rates that fall on a line from gamma_max to gamma_min (Eq. 4)."""
    return torch.linspace(gamma_max, gamma_min, T, dtype=torch.float64).cumprod(0)


def diffused(T: int, gamma_min: float, gamma_max: float = GAMMA_MAX) -> list[Rate]:
    """sqrt(Gamma_t) and sqrt(1 - Gamma_t), t = 1..T: the factor of the mean falls, that of the noise grows."""
    Gamma = diffusion_rates(T, gamma_min, gamma_max)
    return [Rate(mean, noise) for mean, noise in zip(Gamma.sqrt().tolist(), (1 - Gamma).sqrt().tolist(), strict=True)]


def undiffused(T: int) -> list[Rate]:
    """The schedule without diffusion: mu and log sigma are used as they are in every iteration."""
    return [Rate(1.0, 1.0)] * T
