"""How much of the mean and of the noise is left at iteration t."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

GAMMA_MAX = 0.9999


class Rate(NamedTuple):
    """One iteration's factors of mu and of log sigma (Eq. 4)."""

    mean: float
    noise: float


def diffusion_rates(T: int, gamma_min: float, gamma_max: float = GAMMA_MAX) -> Float[Tensor, " T"]:
    """Gamma_t, t = 1..T: the running product of rates that fall on a line from gamma_max to gamma_min (Eq. 4)."""
    return torch.linspace(gamma_max, gamma_min, T, dtype=torch.float64).cumprod(0)


def diffused(T: int, gamma_min: float, gamma_max: float = GAMMA_MAX) -> list[Rate]:
    """sqrt(Gamma_t) and sqrt(1 - Gamma_t): the mean fades, the noise grows."""
    Gamma = diffusion_rates(T, gamma_min, gamma_max)
    return [Rate(mean, noise) for mean, noise in zip(Gamma.sqrt().tolist(), (1 - Gamma).sqrt().tolist(), strict=True)]


def undiffused(T: int) -> list[Rate]:
    """The vanilla architecture: mu and log sigma as they are, at every iteration."""
    return [Rate(1.0, 1.0)] * T
