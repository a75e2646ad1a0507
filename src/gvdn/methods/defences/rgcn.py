"""RGCN: hidden representations are Gaussians, and a large variance lowers the weight of a node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.dropout import Dropout
from gvdn.nn.gaussian import GaussianGCN, GaussianView
from gvdn.training.loop import Terms


@dataclass
class RGCN(Base):
    """Robust GCN (Zhu et al., KDD 2019): L_ce + beta_1 KL(first layer || N(0, I)) + beta_2 |W_first|^2.

    Everything is a product with a sparse matrix; published implementations hold two dense N x N matrices. The epoch is
    chosen by validation accuracy, as for every method here; published ones stop on the validation loss, which changes
    the results. KL is the sum over dimensions of the mean over nodes; published code has the sum over nodes of the mean
    over dimensions, N / hidden times as much, which was as accurate on validation data. Inference takes the mean of the
    last layer instead of a draw, so that it is the same every time; the embedding is the mean of the hidden layer.
    """

    hidden: int = 64
    dropout: float = 0.6
    weight_decay: float = 0.0
    epochs: int = 400
    gamma: float = 1.0
    beta_1: float = 5e-4
    beta_2: float = 5e-4

    name: ClassVar[str] = "rgcn"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    ranges: ClassVar = {"at least 0": ("gamma", "beta_1", "beta_2")}
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "gamma")
    search_space: ClassVar[Space] = space(gamma=(0.5, 1.0, 2.0), beta_1=(5e-5, 5e-4, 5e-3))

    def build(self, features: int, classes: int, generator: Generator | None) -> GaussianGCN:
        return GaussianGCN(features, self.hidden, classes, self.gamma, generator=generator)

    def view(self, graph: Graph) -> GaussianView:
        return GaussianView(graph, self.torch_device())

    def through(self, graph: Graph) -> tuple[GaussianView, Callable[[GaussianView], Tensor]]:
        return self.view(graph), lambda over: self.answer(self.network_, over)

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Float[Tensor, "n k"], Terms]:
        eps = torch.randn(view.num_nodes, network.classes, generator=generator, device=generator.device)
        logits, kl = network(view, dropout=Dropout(self.dropout, generator), eps=eps)
        return logits, {"kl": self.beta_1 * kl, "decay": self.beta_2 * network.W_first.pow(2).sum()}

    def answer(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n k"]:
        return network(view)[0]
