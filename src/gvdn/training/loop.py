"""The training loop of all methods, and the task of most of them."""

import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from gvdn.errors import GvdnError
from gvdn.nn.diffusion import cross_entropy
from gvdn.seeds import derive
from gvdn.training.progress import load_progress, save_progress
from gvdn.training.recording import BLOCK, WARM_UP, CannotRecord, Recording
from gvdn.training.selection import WORST, Score, on_device, score_of

Terms = dict[str, Tensor]
"""The terms of a loss by name."""
Epoch = int | Int64[Tensor, ""]
"""The number of an epoch, from 0; a tensor on the device while an epoch is recorded."""
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

    @property
    def recordable(self) -> bool:
        """Whether an epoch can be recorded as a CUDA graph: no shape and no branch depends on computed values."""
        ...

    def losses(self, epoch: Any, generator: Generator) -> Terms:
        """The terms of the objective, each already times its lambda; their sum is minimised.

        The epoch is an `Epoch` where the task is recordable, an int otherwise. All random numbers of the epoch come
        from the generator, which is on the device of the network.
        """
        ...

    def score(self, generator: Generator) -> Float[Tensor, "2"] | None:
        """The score of the weights that gave the last losses, as `score_of` gives it; None takes the last weights."""
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
        static: whether no shape and no branch of the two passes depends on computed values.
    """

    network: nn.Module
    learn: Callable[[Generator], tuple[Tensor, Terms]]
    answer: Callable[[Generator], Tensor]
    train: Labelled
    val: Labelled
    select: str = "accuracy"
    class_weights: Tensor | None = None
    static: bool = False

    @property
    def recordable(self) -> bool:
        return self.static and on_device(self.select)

    def losses(self, epoch: Any, generator: Generator) -> Terms:
        self.network.train()
        logits, others = self.learn(generator)
        nodes, labels = self.train
        drawn = logits.index_select(-2, nodes).flatten(0, -2)
        repeated = labels.repeat(len(drawn) // max(len(labels), 1))
        return {"ce": cross_entropy(drawn, repeated, self.class_weights)} | others

    @torch.no_grad()
    def score(self, generator: Generator) -> Float[Tensor, "2"] | None:
        self.network.eval()
        nodes, labels = self.val
        return score_of(self.select, self.answer(generator).index_select(0, nodes), labels) if len(nodes) else None

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
            for name, tensor in network.state_dict().items():
                if name not in self.weights:
                    self.weights[name] = torch.empty_like(tensor)
                self.weights[name].copy_(tensor)


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
    every_epoch: bool = False,
) -> Outcome:
    """Train for a number of epochs; the network ends with the weights of the best score.

    The score of an epoch is that of the weights its losses were computed with, before the step: what the training
    pass computed can be used for both, and the weights that are taken are those that were scored. Each epoch has random
    numbers of its own, so a run that was stopped and resumed (from the file `resume`) ends with the same bits.
    The file stays at the end, with the last epoch: the caller deletes it once the result is on the disk.

    On a GPU the epochs of a task that allows it are recorded once and replayed, without a word between device and
    host; the callback is then called for up to twenty epochs at a time. `every_epoch` prevents it: the callback looks
    at the network as it is after each epoch.
    """
    best, start, history = Best(), 0, History()
    if resume is not None and resume.exists():
        start, history = load_progress(resume, epochs, task, optimizer, best)
    generator = Generator(next(task.network.parameters()).device)
    recording = None if every_epoch else Recording.wanted(task, optimizer, generator, best)
    epoch = start

    def seeded(number: int) -> None:
        generator.manual_seed(derive(seed, purpose, str(number)))

    with nullcontext() if recording is None else recording.stream():
        while epoch < epochs:
            ahead = range(epoch, min(epoch + BLOCK, epoch - epoch % save_every + save_every, epochs))
            if recording is not None and epoch - start >= WARM_UP:
                try:
                    records = recording.replayed(ahead, seeded, list(history[-1]))
                except CannotRecord as problem:
                    warnings.warn(f"epochs are not recorded on this GPU, and slower: {problem}", stacklevel=2)
                    recording = None
                    continue
            else:
                seeded(epoch)
                records = [_step(task, optimizer, epoch, generator, best)]
            for record in records:
                epoch += 1
                history.append(_finite(record, epoch))
                if callback is not None:
                    callback(epoch, record)
            if resume is not None and (epoch % save_every == 0 or epoch == epochs):
                save_progress(resume, epoch, history, best, task, optimizer)
    optimizer.zero_grad(set_to_none=True)
    if best.weights:
        task.network.load_state_dict(best.weights)
    return Outcome(best.epoch if best.weights else epochs - 1, best.score.value if best.weights else None, history)


def _step(task: Task, optimizer: Optimizer, epoch: int, generator: Generator, best: Best) -> dict[str, float]:
    """One epoch; returns its entry of the history."""
    terms = task.losses(epoch, generator)
    score = task.score(generator)
    values = torch.stack([term.detach() for term in terms.values()]).tolist()
    record = _finite(dict(zip(terms, values, strict=True)), epoch + 1)
    if score is not None:
        found = Score(*score.tolist())
        best.offer(found, epoch, task.network)
        record["val"] = found.value
    optimizer.zero_grad(set_to_none=True)
    torch.stack(list(terms.values())).sum().backward()
    optimizer.step()
    return record


def _finite(record: dict[str, float], epoch: int) -> dict[str, float]:
    """The losses of an epoch; raises NotFinite if one is NaN or infinite."""
    for name, value in record.items():
        if name != "val" and not math.isfinite(value):
            raise NotFinite(
                f"the loss term {name!r} became {value} in epoch {epoch}; lower the learning rate or scale the features"
            )
    return record
