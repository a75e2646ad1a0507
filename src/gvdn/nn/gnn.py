"""The four plain two-layer networks: GCN, SGC, GraphSAGE with the gcn aggregator, and GAT."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gvdn.nn.aggregators import AGGREGATORS


class PlainGNN(nn.Module):
    """H = act(S X W_1), logits = S H W_2; act is ReLU, and nothing for sgc.

    Kipf and Welling (2017), Wu et al. (2019), Hamilton et al. (2017) and Velickovic et al. (2018), by aggregator.
    `noise_weight` mixes standard Gaussian noise into the hidden layer, (1 - w) H + w N(0, I): the paper's ablation of
    noise that nothing regulates, drawn at inference too. `batch_norm` normalises the hidden layer first.
    """

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        aggregator: str = "gcn",
        *,
        noise_weight: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        layer = AGGREGATORS[aggregator]
        self.activate = F.relu if aggregator != "sgc" else nn.Identity()
        self.noise_weight = noise_weight
        self.first: Any = layer(features, hidden)
        self.norm = nn.BatchNorm1d(hidden) if batch_norm else nn.Identity()
        self.out: Any = layer(hidden, classes)

    def embed(self, view: Any, *, dropout: float = 0.0) -> Float[Tensor, "n h"]:
        H = self.activate(self.norm(self.first.features(view, dropout)))
        return torch.lerp(H, torch.randn_like(H), self.noise_weight) if self.noise_weight else H

    def forward(self, view: Any, *, dropout: float = 0.0) -> Float[Tensor, "n k"]:
        return self.out.hidden(view, F.dropout(self.embed(view, dropout=dropout), dropout))
