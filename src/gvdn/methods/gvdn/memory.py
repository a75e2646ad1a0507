"""What a fitted GVDN stores of the clean graph, and how much weight it has in recovery."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Shaped
from torch import Tensor

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import find_ids
from gvdn.nn.encoder import Fallback
from gvdn.nn.view import TINY
from gvdn.trust.rows import l1_norms

STORED = {
    "memory.ids": "ids m",
    "memory.H_emb": "float32 m hidden",
    "memory.logits": "float32 m classes",
    "memory.mass": "float32 m",
    "memory.own": "float32 m",
}
"""The arrays of a memory in a file."""


@dataclass(frozen=True, eq=False)
class Memory:
    """One row per node of the clean graph, found by id.

    Attributes:
        ids: the node of each row.
        H_emb: the embeddings on the clean graph.
        logits: the predictions on the clean graph.
        mass: the feature mass that reached each node, (A + I) |X| 1.
        own: the L1 norm of each node's own features, |X| 1.
        max_norm: the largest L1 norm of a feature row of the clean graph.
    """

    ids: Shaped[np.ndarray, " n"]
    H_emb: Float[Tensor, "n h"]
    logits: Float[Tensor, "n k"]
    mass: Float32[np.ndarray, " n"]
    own: Float32[np.ndarray, " n"]
    max_norm: float

    @classmethod
    def of(cls, graph: Graph, H_emb: Float[Tensor, "n h"], logits: Float[Tensor, "n k"]) -> "Memory":
        """The memory of a clean graph, given what was computed on it."""
        norms = l1_norms(graph.features)
        mass, longest = feature_mass(graph, norms), float(norms.max(initial=0))
        return cls(graph.ids, H_emb, logits, mass, norms.astype(np.float32), longest)

    def arrays(self) -> dict[str, np.ndarray]:
        """The rows by name, for a file."""
        H_emb, logits = (tensor.detach().cpu().numpy() for tensor in (self.H_emb, self.logits))
        stored = {"ids": self.ids, "H_emb": H_emb, "logits": logits, "mass": self.mass, "own": self.own}
        return {f"memory.{name}": array for name, array in stored.items()}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray], max_norm: float, device: torch.device) -> "Memory":
        """The memory whose rows `arrays` gave."""
        H_emb, logits = (torch.from_numpy(arrays[f"memory.{name}"]).to(device) for name in ("H_emb", "logits"))
        return cls(arrays["memory.ids"], H_emb, logits, arrays["memory.mass"], arrays["memory.own"], max_norm)

    def rows(self, graph: Graph) -> Positions:
        """The row of each node of a graph, -1 for a node that has none."""
        return find_ids(self.ids, graph.ids)

    def only(self, ids: Shaped[np.ndarray, " k"]) -> "Memory":
        """The memory of these nodes alone."""
        chosen = np.isin(self.ids, ids)
        rows = torch.from_numpy(np.flatnonzero(chosen)).to(self.H_emb.device)
        mass, own = self.mass[chosen], self.own[chosen]
        return Memory(self.ids[chosen], self.H_emb[rows], self.logits[rows], mass, own, self.max_norm)

    def fallback(self, graph: Graph, floor: float = 0.0) -> Fallback:
        """The stored rows of the nodes of a graph, zeros for a node that has none, and their weight."""
        return self.weighted(graph, self.stored_weight(graph, floor))

    def weighted(self, graph: Graph, weight: Float32[np.ndarray, " m"]) -> Fallback:
        """The same with these weights."""
        rows = self.rows(graph)
        on_device = torch.from_numpy(weight)[:, None].to(self.H_emb.device)
        return Fallback(on_device, gather_rows(self.H_emb, rows), gather_rows(self.logits, rows))

    def stored_weight(self, graph: Graph, floor: float) -> Float32[np.ndarray, " m"]:
        """The weight of what was stored of each node: 0 while its evidence is whole, 1 when nothing of it is left.

        Evidence is the smaller of two shares of what was there on the clean graph: of the feature mass that reaches
        the node, its own and its neighbours', and of the norm of its own row. Lost features, lost links and a row that
        the guard scaled down lower it. Down to the share `floor` the weight is 0; below, it grows linearly to 1. It is
        computed for all nodes alike, without knowing the victims.
        """
        rows = self.rows(graph)
        if floor <= 0 or not len(self.ids):
            return np.zeros(graph.num_nodes, dtype=np.float32)
        norms = l1_norms(graph.features)
        pairs = ((self.mass[rows], feature_mass(graph, norms)), (self.own[rows], norms))
        return np.where(rows >= 0, lost_weight(pairs, floor), 0).astype(np.float32)


def lost_weight(evidence: Iterable[tuple[np.ndarray, np.ndarray]], floor: float) -> Float[np.ndarray, " n"]:
    """1 - left / floor, within 0 and 1, where `left` is the smallest share of pairs (before, now) of evidence."""
    left: np.ndarray = np.float64(1.0)  # type: ignore[assignment]
    for before, now in evidence:
        left = np.where(before > TINY, np.minimum(left, now / np.maximum(before, TINY)), left)
    return np.clip(1 - left / floor, 0, 1)


def feature_mass(graph: Graph, norms: Float[np.ndarray, " n"] | None = None) -> Float32[np.ndarray, " n"]:
    """(A + I) |X| 1: the summed L1 norms of each node's features and its neighbours'; the norms may be given."""
    norms = l1_norms(graph.features) if norms is None else norms
    return (graph.adjacency @ norms + norms).astype(np.float32)


def gather_rows(matrix: Float[Tensor, "n h"], rows: Positions) -> Float[Tensor, "m h"]:
    """These rows of a matrix; zeros where the row is -1."""
    if not len(matrix):
        return matrix.new_zeros(len(rows), matrix.shape[1])
    if np.array_equal(rows, np.arange(len(matrix))):
        return matrix.clone()
    found = matrix.index_select(0, torch.from_numpy(np.maximum(rows, 0)).to(matrix.device))
    if (rows < 0).any():
        found[torch.from_numpy(rows < 0).to(matrix.device)] = 0.0
    return found
