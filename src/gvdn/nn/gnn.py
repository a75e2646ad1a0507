"""The plain two-layer networks (GCN, SGC, GraphSAGE with the gcn aggregator, GAT), and that of GRAND."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.nn.aggregators import AGGREGATORS
from gvdn.nn.dropout import NO_DROPOUT, Dropout, normal_like
from gvdn.nn.view import View


class PlainGNN(nn.Module):
    """H = act(norm(S X W_1)), logits = S H W_2; act is ReLU, and nothing for sgc; norm is nothing, or with `batch_norm`
    batch normalisation.

    Kipf and Welling (2017), Wu et al. (2019), Hamilton et al. (2017) and Velickovic et al. (2018), by aggregator.
    `noise_weight` mixes standard Gaussian noise into the hidden layer, (1 - w) H + w N(0, I): Eq. 13 of the GVDN
    paper, drawn at inference too. `linear` leaves the activation out: Nettack's surrogate.
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        aggregator: str = "gcn",
        *,
        noise_weight: float = 0.0,
        linear: bool = False,
        batch_norm: bool = False,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        layer = AGGREGATORS[aggregator]
        self.norm = nn.BatchNorm1d(hidden) if batch_norm else nn.Identity()
        self.activate = nn.Identity() if linear or aggregator == "sgc" else F.relu
        self.noise_weight = noise_weight
        self.first: Any = layer(features, hidden, generator=generator)
        self.out: Any = layer(hidden, classes, generator=generator)

    def embed(
        self, view: Any, *, dropout: Dropout = NO_DROPOUT, generator: Generator | None = None
    ) -> Float[Tensor, "n h"]:
        H = self.activate(self.norm(self.first.features(view, dropout)))
        return torch.lerp(H, normal_like(H, generator), self.noise_weight) if self.noise_weight else H

    def forward(
        self, view: Any, *, dropout: Dropout = NO_DROPOUT, generator: Generator | None = None
    ) -> Float[Tensor, "n k"]:
        """Logits; `generator` draws the noise, where there is any."""
        return self.out.hidden(view, dropout(self.embed(view, dropout=dropout, generator=generator)))


class RandomPropagation(nn.Module):
    """GRAND: logits = W_2 norm(ReLU(X̅ W_1 + b_1)) + b_2, X̅ = mean of S^k X over k = 0..order.

    Propagation is linear, so it runs on X W_1; dropping a node is dropping its row, and all draws share the product.
    With `batch_norm` the hidden layer is normalised by batch, and the columns of X̅ by `centre` and `spread`, which
    `standardise` takes from a graph: X̅ W_1 is then (X̅ - centre) / spread W_1, computed without forming X̅.
    """

    centre: Tensor
    spread: Tensor

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        *,
        batch_norm: bool = False,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Parameter(torch.empty(features, hidden)), nn.Parameter(torch.empty(hidden, classes))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        self.norm = nn.BatchNorm1d(hidden) if batch_norm else nn.Identity()
        self.standardised = batch_norm
        if batch_norm:
            self.register_buffer("centre", torch.zeros(features))
            self.register_buffer("spread", torch.ones(features))
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W, generator=generator)

    def standardise(self, centre: Float[Tensor, " d"], spread: Float[Tensor, " d"]) -> None:
        """Take the mean and the standard deviation of the columns of X̅ (`column_moments`)."""
        self.centre.copy_(centre)
        self.spread.copy_(spread)

    def forward(
        self,
        view: View,
        order: int,
        factors: Float[Tensor, "n s"] | None = None,
        *,
        input_dropout: Dropout = NO_DROPOUT,
        hidden_dropout: Dropout = NO_DROPOUT,
    ) -> Float[Tensor, "s n k"]:
        """Logits of each draw; `factors` scales each node in each draw (without them, one draw of all nodes)."""
        W, b = self._first()
        XW = view.project(W, input_dropout)
        if factors is not None:
            XW = (factors[:, :, None] * XW[:, None, :]).flatten(1)
        H = mixed_orders(view, XW, order).view(len(XW), -1, W.shape[1]).transpose(0, 1)
        H = torch.stack([self.norm(F.relu(draw + b)) for draw in H])
        return hidden_dropout(H) @ self.W_2 + self.b_2

    def embed(self, view: View, order: int) -> Float[Tensor, "n h"]:
        """The hidden layer, nothing dropped."""
        W, b = self._first()
        return self.norm(F.relu(mixed_orders(view, view.project(W), order) + b))

    def _first(self) -> tuple[Float[Tensor, "d h"], Float[Tensor, " h"]]:
        """Weights and bias of the first layer for X̅ as it is."""
        if not self.standardised:
            return self.W_1, self.b_1
        W = self.W_1 / self.spread[:, None]
        return W, self.b_1 - self.centre @ W


def mixed_orders(view: View, H: Float[Tensor, "n c"], order: int) -> Float[Tensor, "n c"]:
    """The mean of S^k H over k = 0..order."""
    total = H
    for _ in range(order):
        H = view.propagate(H)
        total = total + H
    return total / (order + 1)


PIECE = 128
"""Columns of X̅ that are computed at a time."""
SMALL_VARIANCE = 1e-5
"""What batch normalisation adds to a variance."""


@torch.no_grad()
def column_moments(view: View, order: int, device: torch.device) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Mean and standard deviation of the columns of X̅, as batch normalisation takes them; a few columns at a time."""
    means, variances = [], []
    for first in range(0, view.num_features, PIECE):
        chosen = torch.arange(first, min(first + PIECE, view.num_features), device=device)
        columns = mixed_orders(view, view.project(F.one_hot(chosen, view.num_features).T.float()), order)
        means.append(columns.mean(dim=0))
        variances.append(columns.var(dim=0, correction=0))
    return torch.cat(means), (torch.cat(variances) + SMALL_VARIANCE).sqrt()
