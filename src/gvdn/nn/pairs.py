"""Pairs of nodes by number, and random pairs that are not linked."""

import torch
from jaxtyping import Int64
from torch import Generator, Tensor

Nodes = Int64[Tensor, " m"]
"""One end of each pair."""


def pair_numbers(u: Nodes, v: Nodes) -> Int64[Tensor, " m"]:
    """The number of each pair u < v among all n (n - 1) / 2 pairs, ordered by v and then by u."""
    return v * (v - 1) // 2 + u


def numbered_pairs(numbers: Int64[Tensor, " m"]) -> tuple[Nodes, Nodes]:
    """The pairs u < v that have these numbers."""
    v = ((1 + (1 + 8 * numbers.double()).sqrt()) / 2).long()
    v -= (v * (v - 1) // 2 > numbers).long()  # the root may be rounded to the next whole number, or to the one before
    v += (v * (v + 1) // 2 <= numbers).long()
    return numbers - v * (v - 1) // 2, v


class NonLinks:
    """Draws pairs u < v that are not among the links, each with the same probability, with repetition.

    The pair with rank r among the pairs that are not linked has the number r + j, where j links have smaller numbers.
    The i-th link in order, of number l_i, has l_i - i unlinked pairs before it, so j is found by a binary search:
    nothing is drawn twice, and no more is stored than one number per link.
    """

    def __init__(self, u: Nodes, v: Nodes, nodes: int) -> None:
        ordered = pair_numbers(u, v).sort().values
        self.before = ordered - torch.arange(len(ordered), device=ordered.device)
        """The number of unlinked pairs before each link."""
        self.number = nodes * (nodes - 1) // 2 - len(ordered)
        """How many pairs are not linked."""

    def draw(self, number: int, generator: Generator) -> tuple[Nodes, Nodes]:
        """So many pairs, or none where all pairs are linked."""
        size = (number if self.number else 0,)
        ranks = torch.randint(max(self.number, 1), size, generator=generator, device=self.before.device)
        return numbered_pairs(ranks + torch.searchsorted(self.before, ranks, right=True))
