"""The training loop of all methods, and the task of most of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from gvdn.errors import GvdnError
from gvdn.nn.diffusion import cross_entropy
from gvdn.seeds import torch_generator
from gvdn.training.progress import load_progress, save_progress
from gvdn.training.selection import WORST, Score, score_of

Terms = dict[str, Tensor]
"""The terms of a loss by name."""
Labelled = tuple[Int64[Tensor, "_"], Int64[Tensor, "_"]]
"""Nodes and their labels."""
History = list[dict[str, float]]
"""The losses of each epoch by name, and `val`, the validation score."""
Callback = Callable[[int, dict[str, float]], None]
"""Called after each epoch with its number, counted from 1, and its entry of the history."""


@runtime_checkable
class Task(Protocol):
    """What is trained: a network, and for each epoch the terms of the loss and the score of the same weights."""

    @property
    def network(self) -> nn.Module: ...

    def losses(self, epoch: int, generator: Generator) -> Terms:
        """The terms of the objective, each already times its lambda; their sum is minimised.

        All random numbers of the epoch come from the generator, which is on the device of the network.
        """
        ...

    def score(self, generator: Generator) -> Score | None:
        """The score of the weights that gave the last losses; None takes the last weights."""
        ...

    def carried(self) -> dict[str, Tensor]:
        """What the next epoch needs from this one besides the weights."""
        ...

    def carry(self, state: dict[str, Tensor]) -> None:
        """Take back what `carried` gave in an earlier run."""
        ...


@dataclass
class LabelTask:
    """Cross entropy on the training nodes; a score on the validation nodes chooses the epoch.

    Attributes:
        learn: one pass of training: logits, of one draw or several, and further terms of the loss.
        answer: one pass of inference: logits.
        train: training nodes and their labels.
        val: validation nodes and their labels; may be empty.
        select: the score that chooses the epoch.
        class_weights: the weight of each class in the cross entropy; all equal when left out.
    """

    network: nn.Module
    learn: Callable[[Generator], tuple[Tensor, Terms]]
    answer: Callable[[Generator], Tensor]
    train: Labelled
    val: Labelled
    select: str = "accuracy"
    class_weights: Tensor | None = None

    def losses(self, epoch: int, generator: Generator) -> Terms:
        self.network.train()
        logits, others = self.learn(generator)
        nodes, labels = self.train
        drawn = logits[..., nodes, :].flatten(0, -2)
        repeated = labels.repeat(len(drawn) // max(len(labels), 1))
        return {"ce": cross_entropy(drawn, repeated, self.class_weights)} | others

    @torch.no_grad()
    def score(self, generator: Generator) -> Score | None:
        self.network.eval()
        nodes, labels = self.val
        return score_of(self.select, self.answer(generator)[nodes], labels) if len(nodes) else None

    def carried(self) -> dict[str, Tensor]:
        return {}

    def carry(self, state: dict[str, Tensor]) -> None:
        """Nothing but the weights goes from one epoch to the next."""


@dataclass
class Best:
    """The weights of the best score: copies, made only when the score improved."""

    score: Score = WORST
    epoch: int = -1
    weights: dict[str, Tensor] = field(default_factory=dict)

    def offer(self, score: Score, epoch: int, network: nn.Module) -> None:
        if score > self.score:
            self.score, self.epoch = score, epoch
            self.weights = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


@dataclass(frozen=True)
class Outcome:
    """The result of a training: the epoch whose weights were taken (from 0), its score, the losses of all epochs."""

    epoch: int
    score: float | None
    history: History


class NotFinite(GvdnError):
    """A loss became NaN or infinite."""


def train(
    task: Task,
    optimizer: Optimizer,
    epochs: int,
    *,
    seed: int,
    purpose: str,
    callback: Callback | None = None,
    resume: Path | None = None,
    save_every: int = 20,
) -> Outcome:
    """Train for a number of epochs; the network ends with the weights of the best score.

    The score of an epoch is that of the weights its losses were computed with, before the step: what the training
    pass computed can be used for both, and the weights that are taken are those that were scored. Each epoch has a
    generator of its own, so a run that was stopped and resumed (from the file `resume`) ends with the same bits.
    The file stays at the end, with the last epoch: the caller deletes it once the result is on the disk.
    """
    best, start, history = Best(), 0, History()
    if resume is not None and resume.exists():
        start, history = load_progress(resume, epochs, task, optimizer, best)
    device = next(task.network.parameters()).device
    for epoch in range(start, epochs):
        generator = torch_generator(seed, purpose, str(epoch), device=device)
        terms = task.losses(epoch, generator)
        score = task.score(generator)
        record = _record(terms, epoch)
        if score is not None:
            best.offer(score, epoch, task.network)
            record["val"] = score.value
        optimizer.zero_grad(set_to_none=True)
        torch.stack(list(terms.values())).sum().backward()
        optimizer.step()
        history.append(record)
        if callback is not None:
            callback(epoch + 1, record)
        if resume is not None and ((epoch + 1) % save_every == 0 or epoch + 1 == epochs):
            save_progress(resume, epoch + 1, history, best, task, optimizer)
    if best.weights:
        task.network.load_state_dict(best.weights)
    return Outcome(best.epoch if best.weights else epochs - 1, best.score.value if best.weights else None, history)


def _record(terms: Terms, epoch: int) -> dict[str, float]:
    """The terms as numbers; raises NotFinite if one is NaN or infinite."""
    values = torch.stack([term.detach() for term in terms.values()]).tolist()
    record = dict(zip(terms, values, strict=True))
    for name, value in record.items():
        if not math.isfinite(value):
            raise NotFinite(
                f"the loss term {name!r} became {value} in epoch {epoch + 1}; "
                "lower the learning rate or scale the features"
            )
    return record
