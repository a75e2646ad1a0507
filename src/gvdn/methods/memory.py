"""What a fitted model keeps of the clean graph, and how recovery leans on it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Float32, Shaped
from torch import Tensor

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import find_ids
from gvdn.nn.view import TINY


@dataclass(frozen=True, eq=False)
class Memory:
    """One row per node of the clean graph, found by id.

    Attributes:
        ids: who the rows belong to.
        H_emb: the clean embeddings.
        logits: the answers on the clean graph.
        mass: how much feature reached each node, (A + I) |X| 1.
        own: how much of it was its own, |X| 1.
        longest_row: the longest feature row of the clean graph (sum of absolute values).
    """

    ids: Shaped[np.ndarray, " n"]
    H_emb: Float[Tensor, "n h"]
    logits: Float[Tensor, "n k"]
    mass: Float32[np.ndarray, " n"]
    own: Float32[np.ndarray, " n"]
    longest_row: float

    def arrays(self) -> dict[str, np.ndarray]:
        """Its rows by name, for a file."""
        H_emb, logits = (tensor.detach().cpu().numpy() for tensor in (self.H_emb, self.logits))
        stored = {"ids": self.ids, "H_emb": H_emb, "logits": logits, "mass": self.mass, "own": self.own}
        return {f"memory.{name}": array for name, array in stored.items()}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], longest_row: float, device: torch.device) -> Memory:
        """The memory that `arrays` described."""
        H_emb, logits = (torch.from_numpy(arrays[f"memory.{name}"]).to(device) for name in ("H_emb", "logits"))
        return cls(arrays["memory.ids"], H_emb, logits, arrays["memory.mass"], arrays["memory.own"], longest_row)

    def places(self, graph: Graph) -> Positions:
        """The row of each node of a graph, -1 for a node that was never seen."""
        return find_ids(self.ids, graph.ids)

    def only(self, ids: Shaped[np.ndarray, " k"]) -> Memory:
        """The memory of these nodes alone."""
        kept = np.isin(self.ids, ids)
        rows = torch.from_numpy(np.flatnonzero(kept)).to(self.H_emb.device)
        mass, own = self.mass[kept], self.own[kept]
        return Memory(self.ids[kept], self.H_emb[rows], self.logits[rows], mass, own, self.longest_row)

    def embeddings(self, graph: Graph) -> Float[Tensor, "m h"]:
        """The clean embedding of each node of the graph, zeros for one that was never seen."""
        return gather_rows(self.H_emb, self.places(graph))

    def answers(self, graph: Graph) -> Float[Tensor, "m k"]:
        """The logits of each node on the clean graph, zeros for one that was never seen."""
        return gather_rows(self.logits, self.places(graph))

    def lean(self, graph: Graph, floor: float) -> Float32[np.ndarray, " m"]:
        """How far each node leans on what was stored of it: 0 while its evidence holds, 1 when nothing is left.

        Evidence is the smaller of two shares of what was there on the clean graph: the feature mass that reaches the
        node, its own and its neighbours', and that of its own row. Lost features, lost links and a row that the guard
        disbelieves lower it. It counts as whole down to `floor` and fades on a line below it. It is measured on every
        node alike: nobody says who was hit.
        """
        places = self.places(graph)
        if floor <= 0 or not len(self.ids):
            return np.zeros(graph.num_nodes, dtype=np.float32)
        left = np.ones(graph.num_nodes)
        for before, now in ((self.mass[places], feature_mass(graph)), (self.own[places], row_lengths(graph))):
            left = np.where(before > TINY, np.minimum(left, now / np.maximum(before, TINY)), left)
        return np.where(places >= 0, np.clip(1 - left / floor, 0, 1), 0).astype(np.float32)


def feature_mass(graph: Graph) -> Float32[np.ndarray, " n"]:
    """(A + I) |X| 1: how much feature reaches each node from itself and its neighbours."""
    lengths = row_lengths(graph)
    return (graph.adjacency @ lengths + lengths).astype(np.float32)


def longest_row(graph: Graph) -> float:
    return float(row_lengths(graph).max(initial=0))


def guarded(graph: Graph, longest: float) -> Graph:
    """The graph with every row that is longer than `longest` cut to longest^2 / length: the louder, the less believed.

    The same graph if none is longer.
    """
    lengths = row_lengths(graph)
    loud = np.flatnonzero(lengths > longest * (1 + 1e-5))
    if not loud.size:
        return graph
    scale = np.ones(graph.num_nodes, dtype=np.float32)
    scale[loud] = (longest / lengths[loud]) ** 2
    if isinstance(graph.features, np.ndarray):
        return dataclasses.replace(graph, features=graph.features * scale[:, None])
    return dataclasses.replace(graph, features=sp.csr_array(sp.diags_array(scale) @ graph.features))


def row_lengths(graph: Graph) -> Float[np.ndarray, " n"]:
    """Sum of the absolute values of each feature row."""
    return np.asarray(abs(graph.features).sum(axis=1), dtype=np.float64).ravel()


def gather_rows(matrix: Float[Tensor, "n h"], places: Positions) -> Float[Tensor, "m h"]:
    """Rows of a matrix by place; the neutral row, zeros, where the place is -1."""
    rows = torch.from_numpy(np.maximum(places, 0)).to(matrix.device)
    known = torch.from_numpy(places >= 0).to(matrix.device)
    if not len(matrix):
        return matrix.new_zeros(len(places), matrix.shape[1])
    return torch.where(known[:, None], matrix[rows], 0.0)
