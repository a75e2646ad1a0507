"""The Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024): one forward pass, equation by equation."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gvdn.nn.aggregators import AGGREGATORS
from gvdn.nn.posterior import Posterior
from gvdn.nn.samplers import Replacement
from gvdn.nn.schedule import Rate

LOG_SIGMA_MAX = 10.0
"""A guard of the exponential: sigma stays below e^10 however loud a perturbator's features are."""


class Hidden(NamedTuple):
    """The first layer: one aggregate, three heads (Eq. 3)."""

    H: Float[Tensor, "n h"]
    q: Posterior


class Encoder(nn.Module):
    """H = ReLU(S X W_h), mu = ReLU(S X W_mu), log sigma = ReLU(S X W_sigma); Z ~ q diffused;
    H_emb = (1 - W_z) H + W_z Z; H_out = S H_emb W_out.

    W_z is a free N x h matrix, one row per node; the caller says which row belongs to which node of a view.
    """

    def __init__(self, features: int, hidden: int, classes: int, nodes: int, aggregator: str = "gcn") -> None:
        super().__init__()
        layer = AGGREGATORS[aggregator]
        self.hidden = hidden
        self.heads: Any = layer(features, hidden, blocks=3)
        self.out: Any = layer(hidden, classes)
        self.W_z = nn.Parameter(torch.empty(nodes, hidden))
        nn.init.kaiming_normal_(self.W_z)

    def first_layer(self, view: Any, dropout: float = 0.0) -> Hidden:
        """Eq. 3."""
        H, mu, log_sigma = F.relu(self.heads.features(view, dropout)).split(self.hidden, dim=1)
        return Hidden(H, Posterior(mu, log_sigma.clamp(max=LOG_SIGMA_MAX)))

    def mix(self, H: Float[Tensor, "n h"], Z: Float[Tensor, "n h"], W_z: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        """(1 - W_z) H + W_z Z (Eq. 6)."""
        return torch.lerp(H, Z, W_z)

    def second_layer(
        self,
        view: Any,
        H_emb: Float[Tensor, "n h"],
        *,
        dropout: float = 0.0,
        replacement: Replacement | None = None,
    ) -> Float[Tensor, "n k"]:
        """H_out (Eq. 7), after the rows that Algorithm 1 chose were replaced."""
        if replacement is not None:
            H_emb = replacement.apply(H_emb)
        return self.out.hidden(view, F.dropout(H_emb, dropout))

    def embed(self, view: Any, rate: Rate, W_z: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        """H_emb without noise: eps = 0, so Z is the diffused mean, and the head of log sigma is not asked."""
        H, mu = F.relu(self.heads.features(view, heads=2 * self.hidden)).split(self.hidden, dim=1)
        return self.mix(H, rate.mean * mu, W_z)
