"""The training loop over parts: as `gvdn.training.loop.train`, for many workers, with checkpoints of each part."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from gvdn.parts import checkpoint
from gvdn.parts.group import exact_sums
from gvdn.parts.objective import TERMS, PartsObjective
from gvdn.parts.site import Site
from gvdn.training.loop import Callback, History, Outcome
from gvdn.training.selection import WORST, Score


@dataclass
class Trainer:
    """What changes from epoch to epoch: weights, optimizers, the best weights so far, and the history.

    Each part has an optimizer of its own rows of W_z, which is asked as soon as their gradient is there; all workers
    have the same optimizer of the shared weights, and give it the same gradients.
    """

    objective: PartsObjective
    shared: dict[str, nn.Parameter]
    learning_rate: float
    weight_decay: float = 0.0
    epoch: int = 0
    history: History = field(default_factory=History)
    best_score: Score = WORST
    best_epoch: int = -1
    best: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = list(self.shared.values())
        self.adam = torch.optim.Adam(weights, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
        self.own = {
            site.number: torch.optim.Adam([site.weights.W_z], lr=self.learning_rate, fused=True)
            for site in self.objective.sites
            if site.weights.W_z.requires_grad
        }

    def step(self) -> dict[str, float]:
        """One epoch; returns its entry of the history."""
        objective = self.objective
        losses = objective.forward(self.epoch)
        score = objective.score()
        if score is not None and score > self.best_score:
            self.best_score, self.best_epoch = score, self.epoch
            self.best = {name: one.detach().clone() for name, one in self.weights().items()}
        parts = []
        for site in objective.sites:
            others, gradients = objective.backward(site)
            parts.append({"loss": torch.cat([losses[site.number].double().reshape(1), others]), **gradients})
            self._step_own(site)
        sums = exact_sums(objective.routes.group, parts)
        record = dict(zip(TERMS, sums["loss"].tolist(), strict=True))
        if not objective.totals.known:
            del record["nm"]
        if score is not None:
            record["val"] = score.value
        for name, parameter in self.shared.items():
            parameter.grad = sums[name].to(parameter.dtype)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        self.history.append(record)
        self.epoch += 1
        return record

    def _step_own(self, site: Site) -> None:
        if site.number in self.own:
            self.own[site.number].step()
            self.own[site.number].zero_grad(set_to_none=True)

    def weights(self) -> dict[str, Tensor]:
        """The shared weights and the rows of W_z of each part here, by name."""
        rows = {f"part {site.number}": site.weights.W_z for site in self.objective.sites}
        return {**self.shared, **rows}

    @torch.no_grad()
    def finish(self) -> Outcome:
        """Put the best weights back, where there was a score; the last ones stay otherwise."""
        for name, parameter in self.weights().items():
            if self.best:
                parameter.copy_(self.best[name])
        if not self.best:
            return Outcome(self.epoch - 1, None, self.history)
        return Outcome(self.best_epoch, self.best_score.value, self.history)


def train(
    trainer: Trainer,
    epochs: int,
    *,
    identity: str,
    callback: Callback | None = None,
    progress: Path | None = None,
    save_every: int = 20,
) -> Outcome:
    """Train for a number of epochs, from the last checkpoint in the folder `progress` if there is one.

    Args:
        identity: what the training depends on; a checkpoint of another one is refused.
        callback: called after each epoch on every worker.
    """
    if progress is not None:
        checkpoint.load(progress, trainer, identity, epochs)
    while trainer.epoch < epochs:
        record = trainer.step()
        if callback is not None:
            callback(trainer.epoch, record)
        if progress is not None and trainer.epoch % save_every == 0 and trainer.epoch < epochs:
            checkpoint.save(progress, trainer, identity)
    return trainer.finish()
