"""The task of most methods: a network that learns from the labels of some nodes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from gvdn.nn.diffusion import cross_entropy

Terms = dict[str, Tensor]
"""The terms of a loss by name."""
Labelled = tuple[Int64[Tensor, "_"], Int64[Tensor, "_"]]
"""Nodes and their labels."""


@dataclass
class LabelTask:
    """Cross entropy on the training nodes; the validation accuracy chooses the epoch.

    Attributes:
        learn: one pass of training: logits, of one draw or several, and further terms of the loss.
        answer: one pass of inference: logits.
        train: training nodes and their labels.
        val: validation nodes and their labels; may be empty.
    """

    network: nn.Module
    learn: Callable[[], tuple[Tensor, Terms]]
    answer: Callable[[], Tensor]
    train: Labelled
    val: Labelled

    def losses(self, epoch: int) -> Terms:
        self.network.train()
        logits, others = self.learn()
        nodes, labels = self.train
        drawn = logits[..., nodes, :].flatten(0, -2)
        return {"ce": cross_entropy(drawn, labels.repeat(len(drawn) // max(len(labels), 1)))} | others

    @torch.no_grad()
    def score(self) -> float | None:
        self.network.eval()
        return accuracy_on(self.val, self.answer) if len(self.val[0]) else None

    def carried(self) -> Terms:
        return {}

    def carry(self, state: Terms) -> None:
        """Nothing but the weights goes from one epoch to the next."""


def accuracy_on(labelled: Labelled, answer: Callable[[], Tensor]) -> float:
    """The share of these nodes whose largest logit is that of their label."""
    nodes, labels = labelled
    return float((answer()[nodes].argmax(dim=1) == labels).float().mean())
