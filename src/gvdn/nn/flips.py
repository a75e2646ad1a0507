"""Links that are flipped in part: candidates among all pairs of nodes, gradients into their flips, a budget for all."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.nn.pairs import numbered_pairs
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import WeightedEdges

Flips = Float[Tensor, " c"]
"""How far each candidate is flipped, from 0 (as it is) to 1."""
Pairs = Int64[np.ndarray, "_ 2"]
SECTIONS, ROUNDS = 8, 8
"""Of the search for a shift: 8 rounds of 8 sections leave 2^-24 of the interval, what float32 can tell apart."""
RATE = 1000.0
"""The step of the ascent for a budget of one flip per node; the loss is a mean over nodes, so gradients are small."""


class FlippedLinks:
    """The links of a graph and candidate pairs: a flip takes a linked candidate away, and links another (weight 1)."""

    def __init__(self, graph: Graph, candidates: Pairs, device: torch.device) -> None:
        nodes = graph.num_nodes
        links, chosen = (edge_keys(pairs, nodes) for pairs in (graph.edges, candidates))
        every = np.union1d(links, chosen)
        given = np.zeros(len(every), dtype=np.float32)
        given[np.searchsorted(every, links)] = graph.edge_weights
        where = np.searchsorted(every, chosen)
        change = np.where(given[where] > 0, -given[where], np.float32(1))
        self.pairs = np.stack([every // nodes, every % nodes], axis=1)
        self.edges, self.number = WeightedEdges(self.pairs, nodes, device), len(candidates)
        self.given, self.where, self.change = (torch.from_numpy(one).to(device) for one in (given, where, change))

    def none(self) -> Flips:
        """Nothing is flipped."""
        return self.given.new_zeros(self.number)

    def weights(self, flips: Flips) -> Float[Tensor, " m"]:
        """The weight of each of `pairs`; gradients flow into the flips."""
        return self.given.index_add(0, self.where, self.change * flips)

    def propagation(self, flips: Flips) -> SparseMatrix:
        """Â of the graph that is flipped so far; gradients flow into the flips."""
        return self.edges.propagation(self.weights(flips))


def random_pairs(nodes: int, number: int, generator: Generator) -> Pairs:
    """So many pairs u < v, uniformly at random, in ascending order; repetitions are left out."""
    if nodes < 2:
        return np.empty((0, 2), dtype=np.int64)
    drawn = torch.randint(nodes * (nodes - 1) // 2, (number,), generator=generator, device=generator.device)
    u, v = (end.cpu().numpy() for end in numbered_pairs(drawn))
    keys = np.unique(u * nodes + v)
    return np.stack([keys // nodes, keys % nodes], axis=1)


def project(flips: Flips, budget: int) -> Flips:
    """The nearest flips between 0 and 1 whose sum is at most the budget: clamp(flips - shift).

    The sum falls as the shift grows, so the shift is searched for section by section, all sections of a round at once:
    a GPU is done with such small work before the host has asked for it.
    """
    if not len(flips):
        return flips
    inside = flips.clamp(0, 1)
    low = flips.min() - 1
    width, inner = flips.max() - low, torch.arange(1, SECTIONS, device=flips.device)[:, None]
    for _ in range(ROUNDS):
        width = width / SECTIONS
        over = (flips - (low + width * inner)).clamp(0, 1).sum(dim=1) > budget
        low = low + width * over.sum()
    return torch.where(inside.sum() <= budget, inside, (flips - (low + width)).clamp(0, 1))


def largest(flips: Flips, budget: int) -> Flips:
    """1 for the largest flips above 0, at most so many, and 0 for the others."""
    top = flips.topk(min(budget, len(flips)))
    return torch.zeros_like(flips).index_copy(0, top.indices, (top.values > 0).to(flips.dtype))


def worst_flips(
    links: FlippedLinks, loss: Callable[[SparseMatrix], Float[Tensor, ""]], budget: int, steps: int
) -> Flips:
    """Flips within the budget that raise a loss of Â, each 0 or 1: projected gradient ascent, then the largest.

    One block of the block coordinate descent of Geisler et al. (PRBCD, NeurIPS 2021).
    """
    flips, rate = links.none(), RATE * budget / links.edges.pattern.shape[0]
    for _ in range(steps if budget and links.number else 0):
        with torch.enable_grad():
            flips = flips.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(loss(links.propagation(flips)), flips)
        flips = project(flips.detach() + rate * gradient, budget)
    return largest(flips.detach(), budget)


def margins(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The best other logit minus the logit of the label: above 0 where the answer is wrong."""
    own = logits.gather(1, labels[:, None])
    return logits.scatter(1, labels[:, None], -torch.inf).amax(dim=1) - own[:, 0]


def tanh_margin(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], scale: float = 1.0) -> Float[Tensor, ""]:
    """The mean of tanh(margin / scale), which an attack raises; a scale above 1 gives certain answers a gradient."""
    return torch.tanh(margins(logits, labels) / scale).mean()
