"""What is stored of the clean graph for the diagnosis of a later one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64, Shaped, UInt64

from gvdn.graph import Graph
from gvdn.trust.rows import Pairs, Probs, digests, l1_norms, l2_norms
from gvdn.trust.student import Student, taught_rows, teach

NEVER = 1e9
"""The threshold where churn exchanges nothing: no score reaches it."""

Answers = Callable[[Graph], Probs]
"""A model's class probabilities of every node of a graph."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores under natural churn, measured on the clean graph.

    Attributes:
        node: the score that 4 % of the nodes with an exchanged link exceed.
        link: the score that 4 % of the links that churn brought exceed.
        excess: of each churned graph, the evidence beyond `node` per changed link.
    """

    node: float = NEVER
    link: float = NEVER
    excess: Float[np.ndarray, " d"] = field(default_factory=lambda: np.zeros(0))

    def exceeded(self, excess: float) -> bool:
        """Whether there is more excess than in any churned graph."""
        return excess > float(self.excess.max(initial=0))

    def p_value(self, excess: float) -> float:
        """The probability of so much excess under churn, at least 1 / (draws + 1)."""
        return float((1 + (self.excess >= excess).sum()) / (1 + len(self.excess)))


@dataclass(frozen=True, eq=False)
class Baseline:
    """What is stored of a clean graph, one row per node, and what was fitted on it.

    Attributes:
        ids: the node of each row.
        edges: the links as rows, (smaller, larger).
        answers: the model's class probabilities on the clean graph.
        own: the student's, by the network that was not taught on the node.
        digests: 64 bits of each feature row.
        max_norm: the largest L1 norm of a feature row.
    """

    ids: Shaped[np.ndarray, " n"]
    edges: Pairs
    answers: Float32[np.ndarray, "n k"]
    own: Float32[np.ndarray, "n k"]
    digests: UInt64[np.ndarray, " n"]
    max_norm: float
    student: Student
    calibration: Calibration = field(default_factory=Calibration)

    @classmethod
    def of(cls, graph: Graph, answers: Answers, *, seed: int, device: torch.device) -> "Baseline":
        """The baseline of a clean graph and of a model that was fitted on it, not calibrated; no label is read.

        The student is taught on some of the nodes where there are very many.
        """
        probs, rows = answers(graph), taught_rows(graph.num_nodes, seed=seed)
        student = teach(graph.features[rows], graph.ids[rows], probs[rows], seed=seed, device=device)
        student = replace(student, longest=float(l2_norms(graph.features).max(initial=0)))
        own = student.answers(graph.features, graph.ids)
        norms = l1_norms(graph.features)
        return cls(
            graph.ids, graph.edges, probs.astype(np.float32), own.astype(np.float32), digests(graph.features),
            float(norms.max(initial=0)), student,
        )  # fmt: skip

    def only(self, chosen: Bool[np.ndarray, " n"]) -> "Baseline":
        """What is stored of some of the nodes, and of the links between them."""
        row = np.cumsum(chosen) - 1
        edges = row[self.edges[chosen[self.edges].all(axis=1)]]
        rows = {name: getattr(self, name)[chosen] for name in ("ids", "answers", "own", "digests")}
        return replace(self, edges=edges, **rows)

    @property
    def number(self) -> int:
        """How many nodes something is stored of."""
        return len(self.ids)

    def as_many(self, links: Int64[np.ndarray, " m"]) -> Int64[np.ndarray, " m"]:
        """How many of them had so many links or more."""
        return self.number - np.searchsorted(self._sorted_degrees, links)

    @cached_property
    def _sorted_degrees(self) -> Int64[np.ndarray, " n"]:
        return np.sort(self.degrees)

    @cached_property
    def degrees(self) -> Int64[np.ndarray, " n"]:
        return np.bincount(self.edges.ravel(), minlength=len(self.ids))
