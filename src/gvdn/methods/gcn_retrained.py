"""GCN, retrained: no defence but learning again on the perturbed graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gvdn.graph import Graph, Split
from gvdn.methods.backbone import Backbone
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.methods.teaching import Teaching
from gvdn.training.loop import Callback


@dataclass
class GCNRetrained(Backbone):
    """A reference row: `recover` trains a new GCN on the perturbed graph with the labels of the first training.

    No weight and no answer of the clean graph is used, but the training labels are, which GVDN's recovery does without.
    """

    name: ClassVar[str] = "gcn-retrained"
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.POISONING,), recovers=True, recover_options=("resume",), embeds=True
    )

    def remember(self, graph: Graph, split: Split) -> None:
        self.teaching_ = Teaching.of(graph, split)

    def recover(self, graph: Graph, *, callback: Callback | None = None, resume: Path | None = None) -> GCNRetrained:
        """A new model, trained anew on this graph; this one stays as it was."""
        self.require_fitted(graph)
        taught, split = self.teaching_.on(graph, self.class_names_)
        return GCNRetrained(**self.get_params()).fit(taught, split, seed=self.seed_, callback=callback, resume=resume)

    def purpose(self) -> str:
        return "gcn"

    def kept(self) -> dict[str, np.ndarray]:
        return self.teaching_.arrays()

    def restore(self, kept: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.teaching_ = Teaching.restored(kept)
