"""Gaussian diffusion: the hidden distribution and the schedule of its rates (Eq. 4 and 5); the losses (Eq. 8 to 11)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
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


def cross_entropy(
    logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], weights: Float[Tensor, " k"] | None = None
) -> Float[Tensor, ""]:
    """-log p(label), averaged over the nodes given (Eq. 8), each with the weight of its class where there are any."""
    return F.cross_entropy(logits, labels, weight=weights)


def kl_to_standard_normal(q: Posterior) -> Float[Tensor, ""]:
    """KL(q || N(0, I)), averaged over nodes and dimensions (Eq. 9)."""
    return 0.5 * (q.mu**2 + torch.exp(2 * q.log_sigma) - 1 - 2 * q.log_sigma).mean()


def diffusion_loss(eps: Float[Tensor, "n h"], Z: Float[Tensor, "n h"]) -> Float[Tensor, ""]:
    """(eps - Z)^2, averaged over nodes and dimensions (Eq. 10)."""
    return F.mse_loss(Z, eps)


def embedding_match(H_emb: Float[Tensor, "n h"], H_hat: Float[Tensor, "n h"]) -> Float[Tensor, ""]:
    """(H_emb - H_hat)^2, averaged over nodes and dimensions (Eq. 11)."""
    return F.mse_loss(H_hat, H_emb)
