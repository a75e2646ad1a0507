"""The Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024): one forward pass, equation by equation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.nn.aggregators import AGGREGATORS
from gvdn.nn.diffusion import Posterior, Rate
from gvdn.nn.dropout import NO_DROPOUT, Dropout

LOG_SIGMA_MAX = 10.0
"""An upper bound of log sigma, so that its exponential stays finite however large the features are."""

Noise = Callable[[Tensor], Tensor]
"""Draws eps of the shape of the tensor it is given."""


class Hidden(NamedTuple):
    """The first layer (Eq. 3); without the head of log sigma where no noise is drawn."""

    H: Float[Tensor, "n h"]
    mu: Float[Tensor, "n h"]
    log_sigma: Float[Tensor, "n h"] | None

    @property
    def q(self) -> Posterior:
        assert self.log_sigma is not None, "the head of log sigma was left out"
        return Posterior(self.mu, self.log_sigma)


@dataclass(frozen=True)
class Fallback:
    """Stored embeddings and logits, and the weight (0 to 1) with which they replace what is computed for each node."""

    weight: Float[Tensor, "n 1"]
    H_emb: Float[Tensor, "n h"]
    logits: Float[Tensor, "n k"]


class Embedding(NamedTuple):
    """What comes before the second layer; eps is None where it was taken as 0."""

    hidden: Hidden
    eps: Float[Tensor, "n h"] | None
    Z: Float[Tensor, "n h"]
    H_emb: Float[Tensor, "n h"]


class Pass(NamedTuple):
    """What one forward pass computed; eps is None where it was taken as 0."""

    hidden: Hidden
    eps: Float[Tensor, "n h"] | None
    Z: Float[Tensor, "n h"]
    H_emb: Float[Tensor, "n h"]
    logits: Float[Tensor, "n k"]


class Encoder(nn.Module):
    """H = ReLU(S X W_h), mu = ReLU(S X W_mu), log sigma = ReLU(S X W_sigma); Z ~ q diffused;
    H_emb = (1 - W_z) H + W_z Z; H_out = S H_emb W_out.

    W_z is a free N x h matrix, one row per node; `forward` takes the rows of the nodes of its view.
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        nodes: int,
        aggregator: str = "gcn",
        *,
        generator: Generator | None = None,
        of_nodes: Generator | None = None,
    ) -> None:
        """The weights are drawn from `generator`, W_z from `of_nodes` and on its device, where that is given."""
        super().__init__()
        layer = AGGREGATORS[aggregator]
        self.hidden = hidden
        self.heads: Any = layer(features, hidden, blocks=3, generator=generator)
        self.out: Any = layer(hidden, classes, generator=generator)
        self.W_z = nn.Parameter(torch.empty(nodes, hidden, device=None if of_nodes is None else of_nodes.device))
        nn.init.kaiming_normal_(self.W_z, generator=generator if of_nodes is None else of_nodes)

    def forward(
        self,
        view: Any,
        rate: Rate,
        W_z: Float[Tensor, "n h"] | None = None,
        *,
        noise: Noise | None = None,
        dropout: Dropout = NO_DROPOUT,
        hidden: Hidden | None = None,
        fallback: Fallback | None = None,
        replaced: Callable[[Tensor], Tensor] | None = None,
    ) -> Pass:
        """Eq. 3 to 7.

        Args:
            W_z: the row of each node of the view; the network's own matrix when left out.
            noise: draws eps; without it eps = 0, so that Z is the diffused mean and no log sigma is computed.
            hidden: the first layer, where it was computed before with the same weights.
            fallback: what is mixed into H_emb and into the logits.
            replaced: replaces rows of H_emb before the second layer (Algorithm 1).
        """
        hidden, eps, Z, H_emb = self.embedding(
            view, rate, W_z, noise=noise, dropout=dropout, hidden=hidden, fallback=fallback
        )
        rows = dropout(H_emb)
        logits = self.second_layer(view, rows if replaced is None else replaced(rows))  # Eq. 7
        if fallback is not None:
            logits = torch.lerp(logits, fallback.logits, fallback.weight)
        return Pass(hidden, eps, Z, H_emb, logits)

    def embedding(
        self,
        view: Any,
        rate: Rate,
        W_z: Float[Tensor, "n h"] | None = None,
        *,
        noise: Noise | None = None,
        dropout: Dropout = NO_DROPOUT,
        hidden: Hidden | None = None,
        fallback: Fallback | None = None,
    ) -> Embedding:
        """Eq. 3 to 6: the part of `forward` that comes before the second layer."""
        if hidden is None:
            hidden = self.first_layer(view, dropout, spread=noise is not None)  # Eq. 3
        eps = None if noise is None else noise(hidden.H)
        Z = rate.mean * hidden.mu if eps is None else hidden.q.diffuse(rate).sample(eps)  # Eq. 4 and 5
        H_emb = torch.lerp(hidden.H, Z, self.W_z if W_z is None else W_z)  # Eq. 6
        if fallback is not None:
            H_emb = torch.lerp(H_emb, fallback.H_emb, fallback.weight)
        return Embedding(hidden, eps, Z, H_emb)

    def first_layer(self, view: Any, dropout: Dropout = NO_DROPOUT, *, spread: bool = True) -> Hidden:
        """H, mu and, with `spread`, log sigma: one aggregate of all heads (Eq. 3)."""
        columns = None if spread else 2 * self.hidden
        H, mu, *rest = F.relu(self.heads.features(view, dropout, columns)).split(self.hidden, dim=1)
        return Hidden(H, mu, rest[0].clamp(max=LOG_SIGMA_MAX) if spread else None)

    def second_layer(self, view: Any, H_emb: Float[Tensor, "n h"]) -> Float[Tensor, "n k"]:
        """H_out (Eq. 7)."""
        return self.out.hidden(view, H_emb)
