"""Epochs on a GPU without a word to the host: one is recorded as a CUDA graph, the others replay it.

On a small graph the GPU is done with a kernel before the host has launched the next one. A recorded epoch is launched
as a whole. Losses and scores stay on the device and are fetched for many epochs at once, and so does the choice of the
best weights. Random numbers are those of the loop: the generator is seeded before each replay.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor
from torch.optim import Optimizer

from gvdn.errors import GvdnError
from gvdn.training.selection import Score

if TYPE_CHECKING:
    from gvdn.training.loop import Best, Task

WARM_UP = 3
"""Epochs before one is recorded: the libraries below allocate what they need in the first ones."""
BLOCK = 20
"""Epochs whose losses are fetched at once."""
LARGEST = 1 << 25
"""Parameters of a network whose epochs are recorded; those of larger ones are not launch-bound."""


@runtime_checkable
class Replays(Protocol):
    """A recorded epoch."""

    def replay(self) -> None: ...


class CannotRecord(GvdnError):
    """This GPU, or its driver, does not record an epoch."""


class Recording:
    """An epoch of a task that is recorded at its first replay, and the best weights so far."""

    def __init__(self, task: "Task", optimizer: Optimizer, generator: Generator, best: "Best") -> None:
        self.task, self.optimizer, self.generator, self.best = task, optimizer, generator, best
        self.graph: Replays | None = None

    @classmethod
    def wanted(cls, task: "Task", optimizer: Optimizer, generator: Generator, best: "Best") -> "Recording | None":
        """A recording, if the task is on a GPU, allows it and is small enough to gain from it."""
        size = sum(parameter.numel() for parameter in task.network.parameters())
        if generator.device.type != "cuda" or size > LARGEST or not task.recordable:
            return None
        return cls(task, optimizer, generator, best)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """The stream in which all epochs run, those before the recording too, which must not wait for another one."""
        outside = torch.cuda.current_stream(self.generator.device)
        inside = torch.cuda.Stream(self.generator.device)
        inside.wait_stream(outside)
        with torch.cuda.stream(inside):
            yield
        outside.wait_stream(inside)

    def replayed(self, epochs: range, seeded: Callable[[int], None], names: list[str]) -> list[dict[str, float]]:
        """Run these epochs and return their entries of the history, whose names the earlier ones had."""
        if self.graph is None:
            self._allocate(len(names))
            self.graph = self._recorded()
        self.first.fill_(epochs.start)
        self.epoch.fill_(epochs.start)
        for epoch in epochs:
            seeded(epoch)
            self.graph.replay()
        rows = self.log[: len(epochs)].tolist()
        if "val" in names:
            self.best.score, self.best.epoch = Score(*self.score.tolist()), int(self.best_epoch)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _allocate(self, width: int) -> None:
        """What an epoch writes besides weights and moments."""
        device, best = self.generator.device, self.best
        self.log = torch.zeros(BLOCK, width, dtype=torch.float32, device=device)
        self.epoch, self.first = (torch.zeros((), dtype=torch.int64, device=device) for _ in range(2))
        self.score, self.best_epoch = torch.tensor(best.score, device=device), torch.tensor(best.epoch, device=device)

    def _recorded(self) -> Replays:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        self.optimizer.zero_grad(set_to_none=True)
        try:
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream(self.generator.device)):
                self._epoch()
        except RuntimeError as problem:
            raise CannotRecord(str(problem).splitlines()[0]) from problem
        return graph

    def _epoch(self) -> None:
        """The same as the loop does for an epoch, with everything on the device."""
        terms = self.task.losses(self.epoch, self.generator)
        score = self.task.score(self.generator)
        values = torch.stack([term.detach() for term in terms.values()])
        if score is not None:
            self._offer(score)
            values = torch.cat([values, score[:1]])
        self.log.index_copy_(0, (self.epoch - self.first).view(1), values[None])
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack(list(terms.values())).sum().backward()
        self.optimizer.step()
        self.epoch.add_(1)

    def _offer(self, score: Tensor) -> None:
        """Keep the weights if their score is better, or the same with a smaller loss."""
        value, minus_loss = self.score
        better = (score[0] > value) | ((score[0] == value) & (score[1] > minus_loss))
        for name, tensor in self.task.network.state_dict().items():
            stored = self.best.weights[name]
            torch.where(better, tensor, stored, out=stored)
        self.best_epoch.copy_(torch.where(better, self.epoch, self.best_epoch))
        self.score.copy_(torch.where(better, score, self.score))
