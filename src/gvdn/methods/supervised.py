"""A network that learns from labels under the one training loop: the base of all methods but GVDN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.graph import Graph, Positions, Split
from gvdn.methods.checks import require_settings, require_trainable
from gvdn.methods.fitted import Fitted, probabilities
from gvdn.nn.losses import cross_entropy
from gvdn.seeds import borrow
from gvdn.training.loop import Callback, train

Terms = dict[str, Tensor]
Labelled = tuple[Int64[Tensor, "_"], Int64[Tensor, "_"]]
"""Nodes and their labels."""
S = TypeVar("S", bound="Supervised")


@dataclass
class Supervised(Fitted):
    """Cross entropy on the training nodes, Adam, and the epoch of the best validation accuracy (the earliest of a tie).

    A method says what it sees of a graph (`view`), how it passes over it while it learns (`learn`: logits, and terms
    that are added to the loss) and when it answers (`answer`: logits).
    """

    hidden: int = 200
    dropout: float = 0.5
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4
    epochs: int = 200
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_settings(
            self,
            counts=("hidden", "epochs"),
            shares=("dropout",),
            positive=("learning_rate",),
            not_negative=("weight_decay",),
        )

    def fit(
        self: S,
        graph: Graph,
        split: Split,
        *,
        seed: int,
        callback: Callback | None = None,
        resume: Path | None = None,
    ) -> S:
        """Learn from the training labels; validation labels choose the epoch, and no other label is read."""
        require_trainable(graph, split)
        self.prepare(graph)
        with borrow(seed, "init", self.purpose()):
            network = self.build(graph.num_features, graph.num_classes).to(self.place())
        view = self.view(graph)
        taught, judged = (self._labelled(graph, part) for part in (split.train, split.val))
        task = self.task(network, view, taught, judged)
        outcome = train(
            task,
            self.optimizer(network),
            self.rounds(),
            seed=seed,
            purpose=f"fit {self.purpose()}",
            callback=callback,
            resume=resume,
        )
        self.learned(graph, network, outcome, seed)
        self.remember(graph, split)
        return self

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node."""
        self.require_fitted(graph)
        with borrow(self.seed_, "inference", self.purpose()):
            return probabilities(self.answer(self.network_, self.view(graph)))

    def _labelled(self, graph: Graph, part: Positions) -> Labelled:
        nodes, labels = part.copy(), graph.labels[part]
        return torch.from_numpy(nodes).to(self.place()), torch.from_numpy(labels).to(self.place())

    # ---- what a method fills in

    def prepare(self, graph: Graph) -> None:
        """What is done before the network is built."""

    def remember(self, graph: Graph, split: Split) -> None:
        """What is kept of the graph once the network is fitted."""

    def view(self, graph: Graph) -> Any:
        """What the network sees of a graph."""
        raise NotImplementedError

    def learn(self, network: Any, view: Any) -> tuple[Float[Tensor, "*draws n k"], Terms]:
        """One pass while learning: logits, of one draw or several, and further terms of the loss."""
        raise NotImplementedError

    def answer(self, network: Any, view: Any) -> Float[Tensor, "n k"]:
        """One pass to answer: logits."""
        raise NotImplementedError

    def task(self, network: nn.Module, view: Any, taught: Labelled, judged: Labelled) -> LabelTask:
        """What the training loop is given."""
        return LabelTask(network, lambda: self.learn(network, view), lambda: self.answer(network, view), taught, judged)

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)

    def purpose(self) -> str:
        """The word that names the method's random numbers."""
        return self.name


@dataclass
class LabelTask:
    """The task of the training loop for a network that learns from the labels of some nodes."""

    network: nn.Module
    learn: Callable[[], tuple[Tensor, Terms]]
    answer: Callable[[], Tensor]
    taught: Labelled
    """Who is learned from."""
    judged: Labelled
    """Who chooses the epoch."""

    def losses(self, epoch: int) -> Terms:
        self.network.train()
        logits, others = self.learn()
        nodes, labels = self.taught
        taught = logits[..., nodes, :].flatten(0, -2)
        return {"ce": cross_entropy(taught, labels.repeat(len(taught) // max(len(labels), 1)))} | others

    @torch.no_grad()
    def score(self) -> float | None:
        nodes, labels = self.judged
        if not len(nodes):
            return None
        self.network.eval()
        return float((self.answer()[nodes].argmax(dim=1) == labels).float().mean())

    def carried(self) -> Terms:
        return {}

    def carry(self, state: Terms) -> None:
        """Nothing goes from one epoch to the next but the weights."""
