"""The plain two-layer networks (GCN, SGC, GraphSAGE with the gcn aggregator, GAT), and those of DropEdge and GRAND."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.nn.aggregators import AGGREGATORS, Linear
from gvdn.nn.dropout import NO_DROPOUT, Dropout, normal_like
from gvdn.nn.view import View


class PlainGNN(nn.Module):
    """H = act(S X W_1), logits = S H W_2; act is ReLU, and nothing for sgc.

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
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        layer = AGGREGATORS[aggregator]
        self.activate = nn.Identity() if linear or aggregator == "sgc" else F.relu
        self.noise_weight = noise_weight
        self.first: Any = layer(features, hidden, generator=generator)
        self.out: Any = layer(hidden, classes, generator=generator)

    def embed(
        self, view: Any, *, dropout: Dropout = NO_DROPOUT, generator: Generator | None = None
    ) -> Float[Tensor, "n h"]:
        H = self.activate(self.first.features(view, dropout))
        return torch.lerp(H, normal_like(H, generator), self.noise_weight) if self.noise_weight else H

    def forward(
        self, view: Any, *, dropout: Dropout = NO_DROPOUT, generator: Generator | None = None
    ) -> Float[Tensor, "n k"]:
        """Logits; `generator` draws the noise, where there is any."""
        return self.out.hidden(view, dropout(self.embed(view, dropout=dropout, generator=generator)))


class SelfFeatureGCN(nn.Module):
    """H = ReLU(norm(S X W_1 + X V_1 + b_1)), logits = S H W_2 + H V_2 + b_2.

    V_1 and V_2 are for each node's own features: the self feature modelling of DropEdge (Rong et al., ICLR 2020).
    """

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
        self.first, self.out = (
            Linear(*shape, blocks=2, generator=generator) for shape in ((features, hidden), (hidden, classes))
        )
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        self.norm = nn.BatchNorm1d(hidden) if batch_norm else nn.Identity()

    def embed(self, view: View) -> Float[Tensor, "n h"]:
        return F.relu(self.norm(self._aggregate(view, view.project(self.first.W)) + self.b_1))

    def forward(self, view: View, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        return self._aggregate(view, dropout(self.embed(view)) @ self.out.W) + self.b_2

    def _aggregate(self, view: View, both: Float[Tensor, "n kk"]) -> Float[Tensor, "n k"]:
        """S H W + H V, given H (W V) side by side."""
        neighbours, own = both.chunk(2, dim=1)
        return view.propagate(neighbours) + own


class RandomPropagation(nn.Module):
    """GRAND: logits = W_2 ReLU(norm(X̅ W_1 + b_1)) + b_2, X̅ = mean of S^k X over k = 0..order.

    Propagation is linear, so it runs on X W_1; dropping a node is dropping its row, and all draws share the product.
    """

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
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W, generator=generator)

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
        XW = view.project(self.W_1, input_dropout)
        if factors is not None:
            XW = (factors[:, :, None] * XW[:, None, :]).flatten(1)
        H = mixed_orders(view, XW, order).view(len(XW), -1, self.W_1.shape[1]).transpose(0, 1)
        H = torch.stack([F.relu(self.norm(draw + self.b_1)) for draw in H])
        return hidden_dropout(H) @ self.W_2 + self.b_2

    def embed(self, view: View, order: int) -> Float[Tensor, "n h"]:
        """The hidden layer, nothing dropped."""
        return F.relu(self.norm(mixed_orders(view, view.project(self.W_1), order) + self.b_1))


def mixed_orders(view: View, H: Float[Tensor, "n c"], order: int) -> Float[Tensor, "n c"]:
    """The mean of S^k H over k = 0..order."""
    total = H
    for _ in range(order):
        H = view.propagate(H)
        total = total + H
    return total / (order + 1)
