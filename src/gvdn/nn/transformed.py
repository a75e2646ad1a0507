"""GTrans: a graph whose features are shifted and whose links are flipped, and the loss that judges such a change."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.graph import Graph
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.flips import FlippedLinks, Flips
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, propagation


class ShiftedView(View):
    """A graph whose features are X + D, of which only D W is given, for the W of a fitted first layer."""

    def __init__(self, graph: Graph, shift: Float[Tensor, "n h"], device: torch.device) -> None:
        super().__init__(propagation(graph, "gcn", device), graph, device, changing=True)
        self.shift = shift

    def aggregate(self, W: Float[Tensor, "d h"], dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n h"]:
        """S (X W + D W)."""
        return self.propagate(self.project(W, dropout) + self.shift)


def surrogate_loss(
    rows: Float[Tensor, "n h"], S: SparseMatrix, dropped: SparseMatrix, order: Int64[Tensor, " n"]
) -> Float[Tensor, ""]:
    """How much a change of some links changes the hidden layer, less how much other features would change it.

    Jin et al. (ICLR 2023): with Z = ReLU(S rows), rows = (X + D) W, Ẑ the same over the links that are left when some
    are dropped, and Z̃ the same with the features of the nodes shuffled,

        mean over the nodes of (1 - cos(ẑ_i, z_i)) - (1 - cos(z̃_i, z_i)).
    """
    Z, Z_hat, Z_tilde = F.relu(S @ rows), F.relu(dropped @ rows), F.relu(S @ rows.index_select(0, order))
    return (F.cosine_similarity(Z_tilde, Z, dim=1) - F.cosine_similarity(Z_hat, Z, dim=1)).mean()


def dropped_links(links: FlippedLinks, flips: Flips, left: Float[Tensor, " m"]) -> SparseMatrix:
    """Â of the flipped graph without some of its links: `left` is 1 for each pair that stays and 0 for the others."""
    return links.edges.propagation(links.weights(flips) * left)
