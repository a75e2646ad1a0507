"""GPR-GAE: an auto-encoder with generalised PageRank filters that says of a link how probably it is genuine."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.utils.checkpoint import checkpoint

from gvdn.graph import Graph
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.pairs import Nodes
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import TINY, View, WeightedEdges, propagation

PIECE = {"cpu": 1 << 12, "cuda": 1 << 18}
"""Pairs decoded at a time: as many as stay in the cache of a CPU, or make one large kernel of a GPU."""


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

    def encode(self, view: View) -> Float[Tensor, "filters n width"]:
        """Z_0 ... Z_K, of every node."""
        hops = [view.project(self.W)]
        for _ in range(self.filters):
            hops.append(view.propagate(hops[-1]))
        first = F.pad(self.gamma.new_ones(1, 1), (0, self.filters))
        mixture = torch.cat([first, self.gamma.tril(1)])
        return (mixture @ torch.stack(hops).flatten(1)).view(len(hops), *hops[0].shape)

    def halves(self, view: View) -> Float[Tensor, "n w"]:
        """ReLU(z) W_1 of every node: what it adds as the first of a pair, and what it adds as the second."""
        Z = F.relu(self.encode(view))
        total, *others = (Z_k @ W_k for Z_k, W_k in zip(Z.unbind(), self.W_1.chunk(len(Z)), strict=True))
        for part in others:
            total = total + part
        return total

    def logits(self, of_u: Float[Tensor, "m w"], of_v: Float[Tensor, "m w"]) -> Float[Tensor, "2 m"]:
        """s_uv and s_vu of each pair, given the `halves` of its nodes."""
        (u_first, u_second), (v_first, v_second) = of_u.chunk(2, dim=1), of_v.chunk(2, dim=1)
        both = torch.stack([u_first + v_second, v_first + u_second])
        return (F.relu(both + self.b_1) @ self.w_2).squeeze(-1) + self.b_2

    def learn(self, view: View, u: Nodes, v: Nodes, genuine: Float[Tensor, " m"], symmetry: float) -> Float[Tensor, ""]:
        """Add the gradient of the loss to the parameters' and return the loss.

        The loss is the cross entropy over pairs and directions plus `symmetry` (p_uv - p_vu)^2, averaged over the
        pairs. A piece of the pairs is decoded at a time and its gradient taken at once, so that memory does not grow
        with the pairs; the encoder follows with the sum.
        """
        halves = self.halves(view)
        gradient, total = torch.zeros_like(halves), halves.new_zeros(())
        size = PIECE[u.device.type]
        for *ends, truth in zip(u.split(size), v.split(size), genuine.split(size), strict=True):
            rows = [halves.detach().index_select(0, end).requires_grad_() for end in ends]
            loss = self._loss(self.logits(*rows), truth, symmetry) / len(u)
            loss.backward()
            for end, row in zip(ends, rows, strict=True):
                assert row.grad is not None
                gradient.index_add_(0, end, row.grad)
            total += loss.detach()
        halves.backward(gradient)
        return total

    @staticmethod
    def _loss(s: Float[Tensor, "2 m"], genuine: Float[Tensor, " m"], symmetry: float) -> Float[Tensor, ""]:
        """Summed over the pairs."""
        entropy = F.binary_cross_entropy_with_logits(s, genuine.expand_as(s), reduction="sum") / 2
        p_uv, p_vu = s.sigmoid()
        return entropy + symmetry * (p_uv - p_vu).square().sum()

    @torch.no_grad()
    def probabilities(self, view: View, u: Nodes, v: Nodes) -> Float[Tensor, " m"]:
        """The probability that each link is genuine, a piece of the links at a time."""
        return self.probabilities_through(view, u, v)

    def probabilities_through(self, view: View, u: Nodes, v: Nodes) -> Float[Tensor, " m"]:
        """The same; gradients flow into the values of S. A piece is decoded again in the backward pass."""
        halves = self.halves(view)
        pieces = zip(*(end.split(PIECE[end.device.type]) for end in (u, v)), strict=True)
        return torch.cat([self._decoded_again(halves, *ends) for ends in pieces])

    def _decoded_again(self, halves: Float[Tensor, "n w"], u: Nodes, v: Nodes) -> Float[Tensor, " m"]:
        """Decoded, of which nothing is held for the backward pass; it draws no random number to be repeated."""
        found: Tensor = checkpoint(self._decoded, halves, u, v, use_reentrant=False, preserve_rng_state=False)
        return found

    def _decoded(self, halves: Float[Tensor, "n w"], u: Nodes, v: Nodes) -> Float[Tensor, " m"]:
        """The mean probability of both directions."""
        return self.logits(*(halves.index_select(0, end) for end in (u, v))).sigmoid().mean(dim=0)


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


class AttackedLinks(View):
    """The features, and links whose weights an attack changes; gradients flow into the weights.

    Without loops a node's only link has a share of the node that does not depend on the weight of the link, however
    small: the gradient at 0 would be infinite. So the degree of a node of which less than a whole link is there is
    filled up as if a link of weight 1 were there for the rest; where links are there or not, nothing changes.
    """

    edges: WeightedEdges
    u: Nodes
    v: Nodes
    weights: Float[Tensor, " m"]
    there: Float[Tensor, " m"]
    """How far each link is there, from 0 to 1: its weight by that of the graph."""

    def __init__(self, graph: Graph, device: torch.device) -> None:
        super().__init__(propagation(graph, "gcn", device), graph, device, changing=True)
        self.graph, self.device = graph, device
        given = torch.from_numpy(graph.edge_weights.copy()).to(device)
        self._set(WeightedEdges(graph.edges, graph.num_nodes, device), given)

    def over(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> "AttackedLinks":
        other = copy.copy(self)
        other._set(edges, weights)
        return other

    def normalised(self, factors: Float[Tensor, " m"]) -> View:
        """The view through D^-1/2 A D^-1/2, without loops, with A the weights times these factors."""
        rows, columns, which = self.edges.rows, self.edges.columns, self.edges.which
        zero = factors.new_zeros(1)
        entries, there = (torch.cat([part, zero])[which] for part in (self.weights * factors, self.there))
        degrees, links = (zero.expand(self.num_nodes).index_add(0, rows, part) for part in (entries, there))
        scale = (degrees + (1 - links).relu()).clamp(min=TINY).rsqrt()
        return self.through(self.edges.pattern.with_values(entries * scale[rows] * scale[columns]))

    def weighed(self, factors: Float[Tensor, " m"]) -> View:
        """The view through Â of the weights times these factors."""
        return self.through(self.edges.propagation(self.weights * factors))

    def _set(self, edges: WeightedEdges, weights: Float[Tensor, " m"]) -> None:
        once = edges.rows < edges.columns
        order = edges.which[once].argsort()
        self.u, self.v = edges.rows[once][order], edges.columns[once][order]
        pairs = np.stack([self.u.cpu().numpy(), self.v.cpu().numpy()], axis=1)
        self.edges, self.weights = edges, weights
        self.there = weights / torch.from_numpy(self.graph.weights_of(pairs)).to(self.device)
