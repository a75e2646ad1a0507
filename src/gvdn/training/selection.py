"""Which epoch is taken: a score on the validation nodes, and their loss between equal scores."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.errors import InvalidInput
from gvdn.metrics import roc_auc
from gvdn.nn.diffusion import cross_entropy
from gvdn.registry import did_you_mean


class Score(NamedTuple):
    """Higher is better; of equal values, the one with the smaller loss.

    With rare classes many epochs have one accuracy: naming the majority everywhere. The loss tells them apart.
    """

    value: float
    minus_loss: float = 0.0


WORST = Score(-math.inf, -math.inf)


def _accuracy(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], loss: Tensor) -> Tensor:
    return (logits.argmax(dim=1) == labels).float().mean()


def _macro_f1(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], loss: Tensor) -> Tensor:
    """The mean F1 of the classes that have nodes or are predicted, as `metrics.macro_f1`."""
    named = logits.argmax(dim=1)
    right, true, said = (
        logits.new_zeros(logits.shape[1]).index_add(0, classes, counted.to(logits.dtype))
        for classes, counted in ((labels, named == labels), (labels, labels >= 0), (named, named >= 0))
    )
    there = true + said > 0
    return (2 * right / (true + said).clamp(min=1)).sum() / there.sum()


def auc(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"]) -> float:
    """The area under the ROC curve of each class against the others, averaged over the classes that have nodes."""
    probs, given = logits.softmax(dim=1).cpu().numpy(), labels.cpu().numpy()
    there = np.unique(given)[: 1 if probs.shape[1] == 2 else None]
    return float(np.mean([roc_auc(probs[:, label], given == label) for label in there]))


def _auc(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], loss: Tensor) -> Tensor:
    return logits.new_tensor(auc(logits, labels))


def _minus_loss(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"], loss: Tensor) -> Tensor:
    return -loss


SELECTIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "accuracy": _accuracy,
    "macro-f1": _macro_f1,
    "auc": _auc,
    "loss": _minus_loss,
}
"""The scores that can choose the epoch."""


def require_selection(name: str) -> None:
    """Raise unless there is a score of this name."""
    if name not in SELECTIONS:
        raise InvalidInput(f"unknown select {name!r}{did_you_mean(name, list(SELECTIONS))}")


@torch.no_grad()
def score_of(select: str, logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"]) -> Float[Tensor, "2"]:
    """The score of these logits, as the two numbers of `Score` on their device."""
    loss = cross_entropy(logits, labels)
    return torch.stack([SELECTIONS[select](logits, labels, loss), -loss])


def on_device(select: str) -> bool:
    """Whether a score is computed where the logits are."""
    return select != "auc"


def balanced_weights(labels: Int64[Tensor, " n"], classes: int) -> Float[Tensor, " k"]:
    """n / (K n_k): each class has the same total weight; 0 for a class without nodes."""
    return balanced_by_counts(torch.bincount(labels, minlength=classes))


def balanced_by_counts(counts: Int64[Tensor, " k"]) -> Float[Tensor, " k"]:
    """The same, given the nodes n_k of each class."""
    there = counts > 0
    return torch.where(there, counts.sum() / (there.sum() * counts.float().clamp(min=1)), 0.0)
