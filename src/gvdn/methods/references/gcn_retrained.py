"""GCN, retrained: a new GCN is trained on the perturbed graph."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gvdn.graph import GraphLike
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.training.loop import Callback


@dataclass
class GCNRetrained(Base):
    """A reference: `recover` trains a new GCN on the perturbed graph with the labels of the first training.

    It uses no weight and no prediction of the clean graph, but the training labels, which GVDN's recovery does not use.
    """

    name: ClassVar[str] = "gcn-retrained"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.POISONING,),
        recovers=True,
        recover_options=("resume",),
        recovers_with_labels=True,
        embeds=True,
    )

    def recover(
        self, graph: GraphLike, *, callback: Callback | None = None, resume: Path | None = None
    ) -> "GCNRetrained":
        """A new model that is trained on this graph; this one stays as it was."""
        graph = self.accepted(graph)
        labelled, split = self.labels_.on(graph, self.class_names_)
        return GCNRetrained(**self.get_params()).fit(labelled, split, seed=self.seed_, callback=callback, resume=resume)

    def purpose(self) -> str:
        return "gcn"
