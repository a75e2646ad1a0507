"""The training loop over parts: as `gvdn.training.loop.train`, for many workers, with checkpoints of each part."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
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
    best_rows: MutableMapping[int, Tensor] = field(default_factory=dict)

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
            self.best = {name: one.detach().clone() for name, one in self.shared.items()}
            for site in objective.sites:
                self.best_rows[site.number] = site.weights.W_z.detach().clone()
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

    @torch.no_grad()
    def finish(self) -> Outcome:
        """Put the best weights back, where there was a score; the last ones stay otherwise."""
        if not self.best:
            return Outcome(self.epoch - 1, None, self.history)
        for name, parameter in self.shared.items():
            parameter.copy_(self.best[name])
        for site in self.objective.sites:
            site.weights.W_z.copy_(self.best_rows[site.number])
        return Outcome(self.best_epoch, self.best_score.value, self.history)


class OnDisk(MutableMapping[int, Tensor]):
    """Rows of parts in files of a folder, where memory is short; written whenever they are set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.there: set[int] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def __setitem__(self, part: int, rows: Tensor) -> None:
        np.save(self.folder / f"{part}.npy", rows.cpu().numpy(), allow_pickle=False)
        self.there.add(part)

    def __getitem__(self, part: int) -> Tensor:
        if part not in self.there:
            raise KeyError(part)
        return torch.from_numpy(np.load(self.folder / f"{part}.npy", allow_pickle=False))

    def __delitem__(self, part: int) -> None:
        self.there.remove(part)

    def __iter__(self) -> Iterator[int]:
        return iter(self.there)

    def __len__(self) -> int:
        return len(self.there)


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
