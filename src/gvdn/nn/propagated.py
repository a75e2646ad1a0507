"""A network on the features of each node, whose output is propagated over the links: AirGNN, Elastic GNN, GPR-GNN."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.view import TINY, View

Propagate = Callable[[Float[Tensor, "n c"]], Float[Tensor, "n c"]]
"""A way to propagate rows over the links of one graph."""


class PropagatedMLP(nn.Module):
    """logits = propagate(H W_2 + b_2), H = ReLU(X W_1 + b_1), with dropout on X and on H.

    The embedding is propagate(H): the hidden layer, propagated as the logits are.
    """

    def __init__(self, features: int, hidden: int, classes: int, *, generator: Generator | None = None) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Parameter(torch.empty(features, hidden)), nn.Parameter(torch.empty(hidden, classes))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(classes))
        for W in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(W, generator=generator)

    def embed(self, view: View, propagate: Propagate) -> Float[Tensor, "n h"]:
        return propagate(self._hidden(view, NO_DROPOUT))

    def forward(self, view: View, propagate: Propagate, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        return propagate(self.alone(view, dropout))

    def alone(self, view: View, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        """What the network says of each row by itself."""
        return dropout(self._hidden(view, dropout)) @ self.W_2 + self.b_2

    def _hidden(self, view: View, dropout: Dropout) -> Float[Tensor, "n h"]:
        return F.relu(view.project(self.W_1, dropout) + self.b_1)


def adaptive_residual(view: View, X_in: Float[Tensor, "n c"], weight: float, steps: int) -> Float[Tensor, "n c"]:
    """Adaptive message passing (Liu et al., NeurIPS 2021, Eq. 9 to 14): proximal gradient steps from X_in on

        (1 - weight) tr(X^T (I - S) X) + weight (sum over the nodes of |x_i - x_in,i|_2).

    With the step size 1 / (2 (1 - weight)), a step is x_i = x_in,i + beta_i (y_i - x_in,i), y = S X, with

        beta_i = max(0, 1 - weight / (2 (1 - weight) |y_i - x_in,i|_2)):

    a node whose neighbours are about what it is itself keeps its own row, one that is unlike them takes theirs.
    """
    threshold, X = weight / (2 * (1 - weight)), X_in
    for _ in range(steps):
        change = view.propagate(X) - X_in
        norms = change.norm(dim=1, keepdim=True).clamp(min=max(threshold, TINY))
        X = X_in + (1 - threshold / norms) * change
    return X


class GPRGNN(PropagatedMLP):
    """Chien et al. (ICLR 2021): logits = sum of gamma_k S^k (H W_2 + b_2) over k = 0..order, with learned gamma.

    At first gamma is that of personalised PageRank, alpha (1 - alpha)^k, and (1 - alpha)^order for the last.
    `trained` counts the epochs that the network was trained for.
    """

    trained: Tensor

    def __init__(
        self, features: int, hidden: int, classes: int, order: int, alpha: float, *, generator: Generator | None = None
    ) -> None:
        super().__init__(features, hidden, classes, generator=generator)
        powers = torch.full((order + 1,), 1 - alpha) ** torch.arange(order + 1)
        self.gamma = nn.Parameter(powers * torch.tensor([alpha] * order + [1.0]))
        self.register_buffer("trained", torch.zeros((), dtype=torch.int64))

    def diffuse(self, view: View) -> Propagate:
        """The learned propagation over the links of a view."""
        return lambda X: view.S.polynomial(X, self.gamma)  # type: ignore[union-attr]  # no low-rank matrix here
