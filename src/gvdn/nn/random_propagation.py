"""Random propagation over several orders, then two dense layers (GRAND)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gvdn.nn.view import View


class RandomPropagation(nn.Module):
    """logits = W_2 ReLU(norm(X̅ W_1 + b_1)) + b_2, X̅ = mean of S^k X over k = 0..order.

    Propagation is linear, so it runs on X W_1, which has `hidden` columns, and not on X; dropping a node is then
    dropping a row of X W_1, and all draws share the product.
    """

    def __init__(self, features: int, hidden: int, classes: int, *, batch_norm: bool = False) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Parameter(torch.empty(features, hidden)), nn.Parameter(torch.empty(hidden, classes))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        self.norm = nn.BatchNorm1d(hidden) if batch_norm else nn.Identity()
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W)

    def forward(
        self,
        view: View,
        order: int,
        factors: Float[Tensor, "n s"] | None = None,
        *,
        input_dropout: float = 0.0,
        hidden_dropout: float = 0.0,
    ) -> Float[Tensor, "s n k"]:
        """Logits of each draw; `factors` scales each node in each draw (without them, one draw of all nodes)."""
        XW = view.project(self.W_1, input_dropout)
        if factors is not None:
            XW = (factors[:, :, None] * XW[:, None, :]).flatten(1)
        H = mixed_orders(view, XW, order).view(len(XW), -1, self.W_1.shape[1]).transpose(0, 1)
        H = torch.stack([F.relu(self.norm(draw + self.b_1)) for draw in H])
        return F.dropout(H, hidden_dropout) @ self.W_2 + self.b_2

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
