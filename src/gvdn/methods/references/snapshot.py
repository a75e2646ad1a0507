"""Snapshot: the stored predictions on the clean graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, GraphLike, Split
from gvdn.graph.graph import find_ids
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.methods.diagnosing import Diagnosing
from gvdn.trust.stored import BASELINE


@dataclass
class Snapshot(Diagnosing, Base):
    """A reference: the GCN's predictions on the graph it was fitted on, whatever graph is given later.

    A method that uses a snapshot must beat it. A new node gets the GCN's prediction on the given graph.
    """

    name: ClassVar[str] = "snapshot"
    why_opaque: ClassVar[str] = "its answers are stored ones, and no link changes them"
    saved: ClassVar[Mapping[str, str]] = {"ids": "ids n", "probs": "shares n classes", **BASELINE}
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.EVASION,), snapshot=True, embeds=True, diagnoses=True
    )

    def remember(self, graph: Graph, split: Split) -> None:
        self.ids_, self.probs_ = graph.ids, super().predict_proba(graph)
        self.keep_baseline(graph)

    def asked(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """The GCN's predictions on the graph: the stored ones would say of no graph that it is perturbed."""
        return super().predict_proba(graph)

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node: the stored ones where there are any."""
        graph = self.accepted(graph)
        rows = find_ids(self.ids_, graph.ids)
        if (rows >= 0).all():
            return self.probs_[rows]
        return np.where((rows >= 0)[:, None], self.probs_[rows], super().predict_proba(graph))
