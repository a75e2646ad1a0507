"""Algorithm 1: for each wrongly predicted node, a label drawn from its neighbours, and the neighbours that have it."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64, Int64
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.nn.sparse import SparseMatrix
from gvdn.registry import Registry

NO_LABEL = -1


class Neighbourhood:
    """The neighbours of some nodes as one flat list: those of `nodes[i]` are `neighbour[starts[i]:starts[i + 1]]`."""

    def __init__(self, graph: Graph, nodes: Positions, device: torch.device) -> None:
        self._of(graph.adjacency[nodes], graph.strengths, nodes, device)

    @classmethod
    def of_rows(
        cls, rows: sp.csr_array, strengths: Float64[np.ndarray, " n"], nodes: Positions, device: torch.device
    ) -> "Neighbourhood":
        """The neighbourhoods of these rows of an adjacency, given the strength of each column."""
        made = object.__new__(cls)
        made._of(rows, strengths, nodes, device)
        return made

    def _of(self, part: sp.csr_array, strengths: np.ndarray, nodes: Positions, device: torch.device) -> None:
        counts = np.diff(part.indptr)
        self.nodes = torch.from_numpy(np.array(nodes, dtype=np.int64)).to(device)
        self.starts = torch.from_numpy(part.indptr.astype(np.int64)).to(device)
        self.counts = torch.from_numpy(counts.astype(np.int64)).to(device)
        self.segment = torch.from_numpy(np.repeat(np.arange(len(nodes)), counts)).to(device)
        self.neighbour = torch.from_numpy(part.indices.astype(np.int64)).to(device)
        self.weight = torch.from_numpy(part.data.astype(np.float32)).to(device)
        self.degree = torch.from_numpy(strengths[part.indices].astype(np.float32)).to(device)
        self.weights_to_here = torch.from_numpy(np.cumsum(part.data, dtype=np.float64)).to(device)
        self.total = torch.from_numpy(np.asarray(part.sum(axis=1), dtype=np.float32)).to(device)
        self._rows = part

    @cached_property
    def matrix(self) -> SparseMatrix:
        """The rows of the adjacency, one for each node here."""
        return SparseMatrix(self._rows, self.nodes.device)

    def votes(self, labels: Int64[Tensor, " n"], weights: Float[Tensor, " e"], classes: int) -> Float[Tensor, "k c"]:
        """Sum of the weights of each node's neighbours, per label they have."""
        cells = self.segment * classes + labels[self.neighbour]
        flat = torch.zeros(len(self.nodes) * classes, device=weights.device)
        return flat.index_add(0, cells, weights).view(-1, classes)


Sampler = Callable[[Neighbourhood, Tensor, int, Generator | None], Tensor]
"""A label for each node of a neighbourhood, given all labels, the number of classes and a generator."""
SAMPLERS: Registry[Sampler | None] = Registry("sampler")
SAMPLERS.add("none", None)


@SAMPLERS.register("random")
def random_label(
    near: Neighbourhood, labels: Int64[Tensor, " n"], classes: int, generator: Generator | None = None
) -> Int64[Tensor, " k"]:
    """The label of one neighbour, drawn in proportion to the weights of the edges."""
    u = torch.rand(len(near.nodes), generator=generator, device=labels.device)
    if not len(near.neighbour):
        return torch.full_like(near.nodes, NO_LABEL)
    before = torch.cat([near.weights_to_here.new_zeros(1), near.weights_to_here])[near.starts[:-1]]
    index = torch.searchsorted(near.weights_to_here, before + u * near.total, right=True)
    index = torch.minimum(index, near.starts[1:] - 1).clamp(min=0)
    chosen = labels[near.neighbour[index]]
    return torch.where(near.counts > 0, chosen, NO_LABEL)


@SAMPLERS.register("major")
def major_label(
    near: Neighbourhood, labels: Int64[Tensor, " n"], classes: int, generator: Generator | None = None
) -> Int64[Tensor, " k"]:
    """The label with the largest sum of edge weights, the count where all are 1; of equal sums, the lower class."""
    votes = near.votes(labels, near.weight, classes)
    return torch.where(near.counts > 0, votes.argmax(dim=1), NO_LABEL)


@SAMPLERS.register("degree")
def degree_label(
    near: Neighbourhood, labels: Int64[Tensor, " n"], classes: int, generator: Generator | None = None
) -> Int64[Tensor, " k"]:
    """The label with the largest sum of degrees, times edge weights, over the neighbours that have it."""
    votes = near.votes(labels, near.weight * near.degree, classes)
    return torch.where(near.counts > 0, votes.argmax(dim=1), NO_LABEL)


class Selection(NamedTuple):
    """What iteration t found for iteration t + 1, for the nodes of a neighbourhood and the entries of its flat list."""

    wrong: Bool[Tensor, " k"]
    """Whether the row of a node is replaced."""
    chosen: Bool[Tensor, " e"]
    """Whether a neighbour is among those that its row is replaced by the mean of."""

    def checked(self, near: Neighbourhood) -> "Selection":
        """The same, if it comes from a file and has the shape of the neighbourhood; raises otherwise."""
        for part, size in zip(self, (len(near.nodes), len(near.neighbour)), strict=True):
            if part.dtype != torch.bool or part.shape != (size,):
                raise InvalidInput(f"expected {size} truth values of Algorithm 1, got {part.dtype} of {part.shape}")
        return self

    def apply(self, near: Neighbourhood, Y: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Y with each wrong node's row replaced by the weighted mean row of its selected neighbours.

        No shape depends on what was selected, so that an epoch can be recorded and replayed on a GPU.
        """
        weights = near.matrix.with_values(near.weight * self.chosen)
        sums = weights @ F.pad(Y, (0, 1), value=1.0)  # the last column adds up the weights
        mean = sums[:, :-1] / sums[:, -1:].clamp(min=torch.finfo(Y.dtype).tiny)
        return Y.index_copy(0, near.nodes, torch.where(self.wrong[:, None], mean, Y.index_select(0, near.nodes)))


class Replacement(NamedTuple):
    """A selection as lists: rows to replace, and the neighbours to take the mean of.

    `neighbour[e]` is one of the selected neighbours of the node `rows[segment[e]]`, joined to it with `weight[e]`.
    """

    rows: Int64[Tensor, " w"]
    segment: Int64[Tensor, " s"]
    neighbour: Int64[Tensor, " s"]
    weight: Float[Tensor, " s"]

    @classmethod
    def of(cls, near: Neighbourhood, selection: Selection) -> "Replacement":
        """The rows and neighbours that a selection names."""
        chosen = selection.chosen.nonzero().squeeze(1)
        index = selection.wrong.cumsum(0) - 1
        rows = near.nodes[selection.wrong]
        return cls(rows, index[near.segment[chosen]], near.neighbour[chosen], near.weight[chosen])

    def checked(self, nodes: int) -> "Replacement":
        """The same, if it comes from a file and could have been selected; raises otherwise."""
        rows, segment, neighbour, weight = (part.cpu() for part in self)
        kinds = [part.dtype for part in self] != [torch.int64] * 3 + [torch.float32]
        if kinds or any(part.ndim != 1 for part in self) or not len(segment) == len(neighbour) == len(weight):
            raise InvalidInput("expected the rows to replace and their neighbours as lists of positions, with weights")
        if not (weight.isfinite().all() and (weight > 0).all()):
            raise InvalidInput("expected a positive weight of each neighbour")
        within = all((part >= 0).all() and (part < nodes).all() for part in (rows, neighbour))
        if not within or len(rows.unique()) < len(rows) or segment.unique().tolist() != list(range(len(rows))):
            raise InvalidInput(f"expected each row to replace, of {nodes}, once and with a neighbour")
        return self

    def apply(self, H: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        """H with each wrong node's row replaced by the weighted mean row of its selected neighbours."""
        if not len(self.rows):
            return H
        rows = H[self.neighbour] * self.weight[:, None]
        sums = H.new_zeros(len(self.rows), H.shape[1]).index_add(0, self.segment, rows)
        total = self.weight.new_zeros(len(self.rows)).index_add(0, self.segment, self.weight)
        return H.index_copy(0, self.rows, sums / total[:, None])


def select_neighbours(
    near: Neighbourhood,
    sampler: Sampler,
    predicted: Int64[Tensor, " n"],
    labels: Int64[Tensor, " k"],
    classes: int,
    generator: Generator | None = None,
) -> Selection:
    """Algorithm 1 over all nodes of the neighbourhood at once; `labels` are the ones they are trained on."""
    wrong = (predicted[near.nodes] != labels) & (near.counts > 0)  # line 2
    drawn = sampler(near, predicted, classes, generator)  # line 3
    matches = predicted[near.neighbour] == drawn[near.segment]
    return Selection(wrong, matches & wrong[near.segment])  # line 4
