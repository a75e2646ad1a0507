"""GRAND: several random propagations of the features, trained to give the same predictions."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import RandomPropagation
from gvdn.nn.view import View, propagation
from gvdn.training.loop import Terms


@dataclass
class GRAND(Base):
    """Feng et al., Graph random neural networks for semi-supervised learning (NeurIPS 2020).

    Each of S draws leaves out every node's features with probability `node_dropout` and mixes the orders 0..K of
    propagation; the loss is the mean cross entropy of the draws, plus `consistency` times the mean squared distance of
    each draw's prediction, over all nodes, to the draws' mean sharpened with a temperature (which gets no gradient).

    Ours and the published code differ: propagation runs on X W_1 instead of on X (the same by linearity, and nothing of
    N x d is formed), so the draws of an epoch share one input dropout, and batch normalisation, where it is used, is of
    the hidden layer alone; all epochs are run and the best is taken, as for every method here, without a patience.

    Args:
        order: K, steps of propagation.
        draws: S, augmentations per epoch.
        dropout: on the hidden layer.
        input_dropout: on the features.
    """

    order: int = 5
    draws: int = 4
    consistency: float = 1.0
    temperature: float = 0.5
    node_dropout: float = 0.5
    input_dropout: float = 0.5
    batch_norm: bool = False

    name: ClassVar[str] = "grand"
    why_opaque: ClassVar[str] = ""
    ranges: ClassVar = {
        "at least 1": ("draws",),
        "at most 10,000": ("draws", "order"),
        "[0, 1)": ("node_dropout", "input_dropout"),
        "positive": ("temperature",),
        "at least 0": ("order", "consistency"),
    }
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "batch_norm")
    search_space: ClassVar[Space] = space(order=(2, 5, 8), temperature=(0.2, 0.35, 0.5))

    def build(self, features: int, classes: int, generator: Generator | None) -> RandomPropagation:
        return RandomPropagation(features, self.hidden, classes, batch_norm=self.batch_norm, generator=generator)

    def view(self, graph: Graph) -> View:
        return View(propagation(graph, "gcn", self.torch_device()), graph, self.torch_device(), changing=True)

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Float[Tensor, "s n k"], Terms]:
        u = torch.rand(view.num_nodes, self.draws, generator=generator, device=generator.device)
        factors = (u >= self.node_dropout) / (1 - self.node_dropout)
        before, after = Dropout(self.input_dropout, generator), Dropout(self.dropout, generator)
        logits = network(view, self.order, factors, input_dropout=before, hidden_dropout=after)
        return logits, {"consistency": self.consistency * disagreement(logits, self.temperature)}

    def answer(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n k"]:
        return network(view, self.order)[0]

    def represent(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n h"]:
        return network.embed(view, self.order)


def disagreement(logits: Float[Tensor, "s n k"], temperature: float) -> Float[Tensor, ""]:
    """Squared distance of the draws' probabilities to their sharpened mean, averaged over draws and nodes."""
    probs = logits.softmax(dim=2)
    sharp = (probs.mean(dim=0).clamp(min=1e-12).log() / temperature).softmax(dim=1).detach()
    return (probs - sharp).pow(2).sum(dim=2).mean()
