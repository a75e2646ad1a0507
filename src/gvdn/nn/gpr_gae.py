"""GPR-GAE: an auto-encoder with generalised PageRank filters that says of a link how probably it is genuine."""

from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Generator, Tensor, nn
from torch.utils.checkpoint import checkpoint

from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.sparse import PIECE, SparseMatrix
from gvdn.nn.view import TINY, View

Nodes = Int64[Tensor, " m"]
"""One end of each pair."""


class LinkAutoEncoder(nn.Module):
    """Lee and Park (ICML 2025): a pair of nodes -> the logit of the probability that a link between them is genuine.

    Encoder, with S = D^-1/2 A D^-1/2 of the weighted links, without loops, and K filters:

        Z_0 = X W,    Z_k = sum of gamma_ki S^i X W over i = 0..k,    z_u = (Z_0 | Z_1 | ... | Z_K)_u

    Decoder, for the pair in one direction: s_uv = ReLU(ReLU(z_u | z_v) W_1 + b_1) w_2 + b_2. ReLU stands before both
    linear layers: without the second, s_uv would be a number of u plus a number of v. The probability of a link is the
    mean of sigmoid(s_uv) and sigmoid(s_vu).

    W_1 is one matrix for the first node of a pair beside one for the second. Both are applied to the nodes and not to
    the pairs, so that a pair costs a sum of two rows of `pair_width` numbers.
    """

    def __init__(
        self, features: int, width: int, filters: int, pair_width: int, *, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.filters = filters
        self.W = nn.Parameter(torch.empty(features, width))
        self.gamma = nn.Parameter(torch.eye(filters + 1)[1:])
        """Row k - 1 has gamma_k0 ... gamma_kk; further entries are not used. Filter k is S^k at first."""
        self.W_1 = nn.Parameter(torch.empty((filters + 1) * width, 2 * pair_width))
        self.b_1, self.b_2 = nn.Parameter(torch.zeros(pair_width)), nn.Parameter(torch.zeros(()))
        self.w_2 = nn.Parameter(torch.empty(pair_width, 1))
        for weights in (self.W, *self.W_1.data.split(pair_width, dim=1), self.w_2):
            nn.init.xavier_uniform_(weights, generator=generator)

    def encode(self, view: View) -> Float[Tensor, "n z"]:
        """z of every node."""
        hops = [view.project(self.W)]
        for _ in range(self.filters):
            hops.append(view.propagate(hops[-1]))
        first = self.gamma.new_zeros(1, self.filters + 1)
        first[0, 0] = 1
        mixture = torch.cat([first, self.gamma.tril(1)])
        Z = mixture @ torch.stack(hops).flatten(1)
        return Z.view(len(hops), *hops[0].shape).transpose(0, 1).flatten(1)

    def halves(self, view: View) -> Float[Tensor, "n w"]:
        """ReLU(z) W_1 of every node: what it adds as the first of a pair, and what it adds as the second."""
        return F.relu(self.encode(view)) @ self.W_1

    def logits(self, halves: Float[Tensor, "n w"], u: Nodes, v: Nodes) -> Float[Tensor, "2 m"]:
        """s_uv and s_vu of each pair."""
        (u_first, u_second), (v_first, v_second) = (halves.index_select(0, end).chunk(2, dim=1) for end in (u, v))
        both = torch.stack([u_first + v_second, v_first + u_second])
        return (F.relu(both + self.b_1) @ self.w_2).squeeze(-1) + self.b_2

    def loss(
        self, view: View, u: Nodes, v: Nodes, genuine: Float[Tensor, " m"], symmetry: float
    ) -> Float[Tensor, ""]:
        """The mean cross entropy over pairs and directions, and `symmetry` (p_uv - p_vu)^2, averaged over the pairs.

        Of many pairs, a piece is decoded at a time, and again in the backward pass: memory does not grow with them.
        """
        halves, number = self.halves(view), max(len(u), 1)
        if len(u) <= PIECE:
            return self._summed_loss(halves, u, v, genuine, symmetry) / number
        again = partial(checkpoint, self._summed_loss, use_reentrant=False, preserve_rng_state=False)
        pieces = zip(*(part.split(PIECE) for part in (u, v, genuine)), strict=True)
        return torch.stack([again(halves, *piece, symmetry) for piece in pieces]).sum() / number

    def _summed_loss(
        self, halves: Float[Tensor, "n w"], u: Nodes, v: Nodes, genuine: Float[Tensor, " m"], symmetry: float
    ) -> Float[Tensor, ""]:
        s = self.logits(halves, u, v)
        entropy = F.binary_cross_entropy_with_logits(s, genuine.expand_as(s), reduction="sum") / 2
        p_uv, p_vu = s.sigmoid()
        return entropy + symmetry * (p_uv - p_vu).square().sum()

    @torch.no_grad()
    def probabilities(self, view: View, u: Nodes, v: Nodes) -> Float[Tensor, " m"]:
        """The probability that each link is genuine, a piece of the links at a time."""
        halves = self.halves(view)
        pieces = zip(u.split(PIECE), v.split(PIECE), strict=True)
        return torch.cat([self.logits(halves, *piece).sigmoid().mean(dim=0) for piece in pieces])


class PurifyingGNN(nn.Module):
    """A plain network, and beside it the auto-encoder that weighs the links of a graph before the network sees it."""

    def __init__(self, gnn: PlainGNN, auto_encoder: LinkAutoEncoder) -> None:
        super().__init__()
        self.gnn, self.auto_encoder = gnn, auto_encoder

    def embed(self, view: View) -> Float[Tensor, "n h"]:
        return self.gnn.embed(view)

    def forward(self, view: View, *, dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        return self.gnn(view, dropout=dropout)


def normalised_links(u: Nodes, v: Nodes, weights: Float[Tensor, " m"], nodes: int) -> SparseMatrix:
    """D^-1/2 A D^-1/2 with A_uv = A_vu the sum of the weights of the pair; the row of a node without links is zero."""
    degrees = weights.new_zeros(nodes).index_add(0, u, weights).index_add(0, v, weights)
    scale = degrees.clamp(min=TINY).rsqrt()
    return SparseMatrix.of_pairs(u, v, weights * scale[u] * scale[v], nodes)
