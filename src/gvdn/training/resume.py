"""The state of an unfinished training, in one safetensors file: weights, optimizer, best weights and history."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gvdn.errors import InvalidInput
from gvdn.files import whole_file

if TYPE_CHECKING:
    from gvdn.training.loop import Best, Task


def save_progress(
    path: Path,
    epoch: int,
    history: list[dict[str, float]],
    best: "Best",
    task: "Task",
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write everything the remaining epochs depend on; whole or not at all."""
    tensors = {f"now.{name}": tensor for name, tensor in task.network.state_dict().items()}
    tensors |= {f"carried.{name}": tensor for name, tensor in task.carried().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.weights.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": tensor for name, tensor in state.items()}
    about = {"epoch": epoch, "history": history, "score": best.score, "best_epoch": best.epoch}
    with whole_file(path) as draft:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, {"about": json.dumps(about)})


def load_progress(
    path: Path, task: "Task", optimizer: torch.optim.Optimizer, best: "Best"
) -> tuple[int, list[dict[str, float]]]:
    """Put the saved state into task, optimizer and best weights; returns the next epoch and the history."""
    device = next(task.network.parameters()).device
    try:
        with safe_open(path, framework="pt", device=str(device)) as archive:
            about: dict[str, Any] = json.loads(archive.metadata()["about"])
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
        task.network.load_state_dict(_under(tensors, "now."))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise InvalidInput(
            f"{path}: not the progress of this training ({str(problem).splitlines()[0]}); delete it to start again"
        ) from problem
    best.score, best.epoch, best.weights = about["score"], about["best_epoch"], _under(tensors, "best.")
    whole = optimizer.state_dict()
    whole["state"] = _adam(_under(tensors, "adam."))
    optimizer.load_state_dict(whole)
    task.carry(_under(tensors, "carried."))
    return about["epoch"], about["history"]


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _adam(flat: dict[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in flat.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    return state
