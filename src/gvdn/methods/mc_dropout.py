"""MC Dropout: a GCN that answers with its dropout on, many times, and takes the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.backbone import Backbone
from gvdn.methods.checks import require_settings
from gvdn.methods.contract import Capabilities
from gvdn.methods.fitted import probabilities
from gvdn.methods.uncertainty import Uncertainty, split_entropy
from gvdn.seeds import borrow


@dataclass
class MCDropout(Backbone):
    """Gal and Ghahramani, Dropout as a Bayesian approximation (ICML 2016): p = mean over S draws of softmax(f_draw).

    The epoch is chosen by the answer without dropout. The GVDN paper prints the dropout per dataset and not S.
    """

    samples: int = 50

    name: ClassVar[str] = "mc-dropout"
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, uncertainty=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_settings(self, counts=("samples",))

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """The mean over the draws."""
        return self.uncertainty(graph, self.samples).probs

    @torch.no_grad()
    def uncertainty(self, graph: Graph, samples: int = 50) -> Uncertainty:
        """The mean over draws of the dropout, its entropy split into expected and mutual information."""
        self.require_fitted(graph)
        if samples < 1:
            raise InvalidInput(f"expected at least one draw, got {samples}")
        view = self.view(graph)
        with borrow(self.seed_, "inference", self.purpose()):
            return split_entropy(
                np.stack([probabilities(self.network_(view, dropout=self.dropout)) for _ in range(samples)])
            )
