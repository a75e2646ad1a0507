"""Snapshot: the answer of the clean graph, returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, Split
from gvdn.graph.graph import find_ids
from gvdn.methods.backbone import Backbone
from gvdn.methods.contract import Capabilities, ThreatModel


@dataclass
class Snapshot(Backbone):
    """A reference row: the GCN's answers on the graph it was fitted on, whatever happened since.

    It is what a method with access to the clean predictions must beat. A node that was not there then gets the GCN's
    answer on the graph that is asked about.
    """

    name: ClassVar[str] = "snapshot"
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.EVASION,), snapshot=True, embeds=True
    )

    def remember(self, graph: Graph, split: Split) -> None:
        self.ids_, self.probs_ = graph.ids, super().predict_proba(graph)

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """The stored answer of each node that has one."""
        self.require_fitted(graph)
        places = find_ids(self.ids_, graph.ids)
        if (places >= 0).all():
            return self.probs_[places]
        return np.where((places >= 0)[:, None], self.probs_[places], super().predict_proba(graph))

    def kept(self) -> dict[str, np.ndarray]:
        return {"ids": self.ids_, "probs": self.probs_}

    def restore(self, kept: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.ids_, self.probs_ = kept["ids"], kept["probs"]
