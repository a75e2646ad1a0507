"""GCN, retrained: a new GCN is trained on the perturbed graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gvdn.graph import Graph, GraphLike, Split
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.methods.labels import STORED, StoredLabels
from gvdn.training.loop import Callback


@dataclass
class GCNRetrained(Base):
    """A reference: `recover` trains a new GCN on the perturbed graph with the labels of the first training.

    It uses no weight and no prediction of the clean graph, but the training labels, which GVDN's recovery does not use.
    """

    name: ClassVar[str] = "gcn-retrained"
    saved: ClassVar[Mapping[str, str]] = STORED
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.POISONING,), recovers=True, recover_options=("resume",), embeds=True
    )

    def remember(self, graph: Graph, split: Split) -> None:
        self.labels_ = StoredLabels.of(graph, split)

    def recover(
        self, graph: GraphLike, *, callback: Callback | None = None, resume: Path | None = None
    ) -> "GCNRetrained":
        """A new model that is trained on this graph; this one stays as it was."""
        graph = self.accepted(graph)
        labelled, split = self.labels_.on(graph, self.class_names_)
        return GCNRetrained(**self.get_params()).fit(labelled, split, seed=self.seed_, callback=callback, resume=resume)

    def purpose(self) -> str:
        return "gcn"

    def arrays(self) -> dict[str, np.ndarray]:
        return self.labels_.arrays()

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.labels_ = StoredLabels.restored(arrays)
