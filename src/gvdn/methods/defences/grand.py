"""GRAND: several random propagations of the features, trained to give the same predictions."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.graph import Features, Graph, Split
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import RandomPropagation, column_moments
from gvdn.nn.view import View, propagation
from gvdn.training.loop import Task, Terms
from gvdn.trust.rows import l1_norms, scaled_rows


@dataclass
class GRAND(Base):
    """Feng et al., Graph random neural networks for semi-supervised learning (NeurIPS 2020).

    Each of S draws leaves out every node's features with probability `node_dropout` and mixes the orders 0..K of
    propagation; the loss is the mean cross entropy of the draws, plus `consistency` times the mean squared distance of
    each draw's prediction, over all nodes, to the draws' mean sharpened with a temperature (which gets no gradient).

    As in the published code, feature rows are divided by their norm when a graph is read (`normalise_rows`), and with
    `batch_norm` both the propagated features and the hidden layer are normalised by batch. The first matters: a row
    with a very large norm otherwise dominates those that it reaches, and no propagation follows the activation that
    could bring back what other neighbours say.

    Ours and the published code differ: propagation runs on X W_1 instead of on X (the same by linearity, and nothing of
    N x d is formed), so the draws of an epoch share one input dropout, and the propagated features are normalised by
    the moments of the graph of the fit instead of those of each draw; all epochs are run and the best is taken, as for
    every method here, without a patience.

    Args:
        order: K, steps of propagation.
        draws: S, augmentations per epoch.
        dropout: on the hidden layer.
        input_dropout: on the features.
        normalise_rows: whether feature rows are divided by their L1 norm.
    """

    order: int = 5
    draws: int = 4
    consistency: float = 1.0
    temperature: float = 0.5
    node_dropout: float = 0.5
    input_dropout: float = 0.5
    batch_norm: bool = False
    normalise_rows: bool = True

    name: ClassVar[str] = "grand"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    ranges: ClassVar = {
        "at least 1": ("draws",),
        "at most 10,000": ("draws", "order"),
        "[0, 1)": ("node_dropout", "input_dropout"),
        "positive": ("temperature",),
        "at least 0": ("order", "consistency"),
    }
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "batch_norm")
    search_space: ClassVar[Space] = space(
        learning_rate=(0.003, 0.01, 0.05, 0.2), order=(2, 5, 8), temperature=(0.2, 0.35, 0.5)
    )

    def build(self, features: int, classes: int, generator: Generator | None) -> RandomPropagation:
        return RandomPropagation(features, self.hidden, classes, batch_norm=self.batch_norm, generator=generator)

    def training(self, graph: Graph, split: Split, *, seed: int) -> tuple[Task, torch.optim.Optimizer]:
        task, optimizer = super().training(graph, split, seed=seed)
        if self.batch_norm:
            network: Any = task.network
            network.standardise(*column_moments(self.view(graph), self.order, self.torch_device()))
        return task, optimizer

    def view(self, graph: Graph) -> View:
        S = propagation(graph, "gcn", self.torch_device())
        return View(S, self.read(graph), self.torch_device(), changing=True)

    def through(self, graph: Graph) -> tuple[Any, Callable[[Any], Tensor]]:
        return super().through(self.read(graph))

    def read(self, graph: Graph) -> Graph:
        """The graph with the features that the network gets."""
        return dataclasses.replace(graph, features=unit_rows(graph.features)) if self.normalise_rows else graph

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


def unit_rows(features: Features) -> Features:
    """Each row divided by its L1 norm; a row of zeros stays zero."""
    norms = l1_norms(features)
    return scaled_rows(features, np.divide(1.0, norms, out=np.zeros_like(norms), where=norms != 0))


def disagreement(logits: Float[Tensor, "s n k"], temperature: float) -> Float[Tensor, ""]:
    """Squared distance of the draws' probabilities to their sharpened mean, averaged over draws and nodes."""
    probs = logits.softmax(dim=2)
    sharp = (probs.mean(dim=0).clamp(min=1e-12).log() / temperature).softmax(dim=1).detach()
    return (probs - sharp).pow(2).sum(dim=2).mean()
