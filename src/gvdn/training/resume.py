"""A training run half way, on disk: weights, optimizer, best weights and history in one safetensors file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from gvdn.errors import InvalidInput
from gvdn.files import whole_file

if TYPE_CHECKING:
    from gvdn.training.loop import Best

Progress = tuple[int, list[dict[str, float]], "Best"]


def save_progress(
    path: Path,
    epoch: int,
    history: list[dict[str, float]],
    best: Best,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write everything the remaining epochs depend on; whole or not at all."""
    tensors = {f"now.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.weights.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": tensor for name, tensor in state.items()}
    about = {"epoch": epoch, "history": history, "score": best.score, "best_epoch": best.epoch}
    with whole_file(path) as draft:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, {"about": json.dumps(about)})


def load_progress(path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, best: Best) -> Progress:
    """Put the saved state into network, optimizer and best weights; returns the next epoch, the history, the best."""
    device = next(network.parameters()).device
    try:
        with safe_open(path, framework="pt", device=str(device)) as archive:
            about: dict[str, Any] = json.loads(archive.metadata()["about"])
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
        network.load_state_dict(_under(tensors, "now."))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise InvalidInput(
            f"{path}: not the progress of this training ({str(problem).splitlines()[0]}); delete it to start anew"
        ) from problem
    best.score, best.epoch, best.weights = about["score"], about["best_epoch"], _under(tensors, "best.")
    whole = optimizer.state_dict()
    whole["state"] = _adam(_under(tensors, "adam."))
    optimizer.load_state_dict(whole)
    return about["epoch"], about["history"], best


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _adam(flat: dict[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in flat.items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    return state
