"""The training loop of all methods, the task of most of them, and the file that a stopped training continues from."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from gvdn.errors import GvdnError, InvalidInput
from gvdn.files import whole_file
from gvdn.nn.diffusion import cross_entropy
from gvdn.seeds import borrow, derive

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

    def losses(self, epoch: int) -> Terms:
        """The terms of the objective, each already times its lambda; their sum is minimised."""
        ...

    def score(self) -> float | None:
        """The score of the weights that gave the last losses, higher is better; None takes the last weights."""
        ...

    def carried(self) -> dict[str, Tensor]:
        """What the next epoch needs from this one besides the weights."""
        ...

    def carry(self, state: dict[str, Tensor]) -> None:
        """Take back what `carried` gave in an earlier run."""
        ...


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

    def carried(self) -> dict[str, Tensor]:
        return {}

    def carry(self, state: dict[str, Tensor]) -> None:
        """Nothing but the weights goes from one epoch to the next."""


def accuracy_on(labelled: Labelled, answer: Callable[[], Tensor]) -> float:
    """The share of these nodes whose largest logit is that of their label."""
    nodes, labels = labelled
    return float((answer()[nodes].argmax(dim=1) == labels).float().mean())


@dataclass
class Best:
    """The weights of the best score: copies, made only when the score improved; the earliest epoch wins a tie."""

    score: float = -math.inf
    epoch: int = -1
    weights: dict[str, Tensor] = field(default_factory=dict)

    def offer(self, score: float, epoch: int, network: nn.Module) -> None:
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
    seed of its own, so a run that was stopped and resumed (from the file `resume`) ends with the same bits. The file
    stays at the end, with the last epoch: the caller deletes it once the result is on the disk.
    """
    best, start, history = Best(), 0, History()
    if resume is not None and resume.exists():
        start, history = _load_progress(resume, task, optimizer, best)
    with borrow(seed, purpose):
        for epoch in range(start, epochs):
            torch.manual_seed(derive(seed, purpose, str(epoch)))
            terms = task.losses(epoch)
            score = task.score()
            record = _record(terms, epoch)
            if score is not None:
                best.offer(score, epoch, task.network)
                record["val"] = score
            optimizer.zero_grad(set_to_none=True)
            torch.stack(list(terms.values())).sum().backward()
            optimizer.step()
            history.append(record)
            if callback is not None:
                callback(epoch + 1, record)
            if resume is not None and ((epoch + 1) % save_every == 0 or epoch + 1 == epochs):
                _save_progress(resume, epoch + 1, history, best, task, optimizer)
    if best.weights:
        task.network.load_state_dict(best.weights)
    return Outcome(best.epoch if best.weights else epochs - 1, best.score if best.weights else None, history)


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


def _save_progress(path: Path, epoch: int, history: History, best: Best, task: Task, optimizer: Optimizer) -> None:
    """Write everything the remaining epochs depend on; whole or not at all."""
    tensors = {f"now.{name}": tensor for name, tensor in task.network.state_dict().items()}
    tensors |= {f"carried.{name}": tensor for name, tensor in task.carried().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.weights.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": tensor for name, tensor in state.items()}
    about = {"epoch": epoch, "history": history, "score": best.score, "best_epoch": best.epoch}
    with whole_file(path) as draft:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, {"about": json.dumps(about)})


def _load_progress(path: Path, task: Task, optimizer: Optimizer, best: Best) -> tuple[int, History]:
    """Put the saved state into task, optimizer and best weights; returns the next epoch and the history."""
    device = next(task.network.parameters()).device
    try:
        with safe_open(path, framework="pt", device=str(device)) as archive:
            about: dict[str, Any] = json.loads(archive.metadata()["about"])
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
        task.network.load_state_dict(_under(tensors, "now."))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        why = str(problem).splitlines()[0]
        raise InvalidInput(f"{path}: not the progress of this training ({why}); delete it to start again") from problem
    best.score, best.epoch, best.weights = about["score"], about["best_epoch"], _under(tensors, "best.")
    whole = optimizer.state_dict()
    numbers = [number for group in whole["param_groups"] for number in group["params"]]
    states = {number: _under(tensors, f"adam.{number}.") for number in numbers}
    whole["state"] = {number: state for number, state in states.items() if state}
    optimizer.load_state_dict(whole)
    task.carry(_under(tensors, "carried."))
    return about["epoch"], about["history"]


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
