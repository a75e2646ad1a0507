"""MC Dropout: a GCN whose prediction is the mean over many passes with dropout."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from gvdn.graph import GraphLike
from gvdn.methods.base import Base, mean_of_draws, probabilities
from gvdn.methods.contract import Capabilities
from gvdn.methods.search import Space, space
from gvdn.metrics import Uncertainty
from gvdn.nn.dropout import Dropout


@dataclass
class MCDropout(Base):
    """Gal and Ghahramani, Dropout as a Bayesian approximation (ICML 2016): p = mean over S draws of softmax(f_draw).

    The epoch is chosen by the prediction without dropout. The GVDN paper prints the dropout per dataset and not S.
    Where the printed one is too much, the catalogue has another that was chosen on validation data;
    `preset(dataset, paper=True)` has the printed one.
    A white-box attack is aimed at the prediction without dropout, too.
    """

    samples: int = 50

    name: ClassVar[str] = "mc-dropout"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    ranges: ClassVar = {"at least 1": ("samples",), "at most 10,000": ("samples",)}
    search_space: ClassVar[Space] = space(dropout=(0.3, 0.5, 0.7, 0.9), epochs=(100, 200, 400))
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, uncertainty=True, stochastic=True)

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node: the mean over `samples` draws of the dropout."""
        return self.uncertainty(graph, self.samples).probs

    @torch.no_grad()
    def uncertainty(self, graph: GraphLike, samples: int = 50) -> Uncertainty:
        """The mean prediction over draws of the dropout, and its entropy in two parts."""
        view = self.view(self.accepted(graph))
        dropout = Dropout(self.dropout, self.inference_generator())
        return mean_of_draws(lambda: probabilities(self.network_(view, dropout=dropout)), samples)
