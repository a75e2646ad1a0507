"""The file that a stopped training continues from: everything the remaining epochs depend on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.optim import Optimizer

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.limits import require_file
from gvdn.schema import Field, Schema, checked, parse_json
from gvdn.training.selection import WORST, Score

if TYPE_CHECKING:
    from gvdn.training.loop import Best, History, Task

State = Mapping[str, Tensor]


def save_progress(path: Path, epoch: int, history: "History", best: "Best", task: "Task", optimizer: Optimizer) -> None:
    """Write the state after so many epochs; whole or not at all."""
    tensors = {f"now.{name}": tensor for name, tensor in task.network.state_dict().items()}
    tensors |= {f"carried.{name}": tensor for name, tensor in task.carried().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.weights.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": tensor for name, tensor in state.items()}
    score = best.score if best.weights else None
    about = {"epoch": epoch, "history": history, "score": score, "best_epoch": best.epoch}
    with whole_file(path) as draft:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, {"about": json.dumps(about)})


def load_progress(path: Path, epochs: int, task: "Task", optimizer: Optimizer, best: "Best") -> tuple[int, "History"]:
    """Put the saved state into task, optimizer and best weights; returns the next epoch and the history."""
    try:
        require_file(path)
        with safe_open(path, framework="pt", device=str(next(task.network.parameters()).device)) as archive:
            about = _checked(parse_json((archive.metadata() or {})["about"]), epochs)
            tensors = _tensors(archive, about, task, optimizer)
        task.carry(_under(tensors, "carried."))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError, OverflowError) as problem:
        why = str(problem).splitlines()[0]
        raise InvalidInput(f"{path}: not the progress of this training ({why}); delete it to start again") from problem
    task.network.load_state_dict(_under(tensors, "now."))
    best.score = WORST if about["score"] is None else Score(*about["score"])
    best.epoch, best.weights = about["best_epoch"], _under(tensors, "best.")
    whole = optimizer.state_dict()
    states = {number: _under(tensors, f"adam.{number}.") for number in _parameters(optimizer)}
    whole["state"] = {number: state for number, state in states.items() if state}
    optimizer.load_state_dict(whole)
    return about["epoch"], about["history"]


def _checked(about: Any, epochs: int) -> dict[str, Any]:
    """What the file says of itself: a history of so many epochs, and the best of them."""
    schema: Schema = {
        "epoch": Field(int, low=0, high=epochs),
        "history": Field(list, items=Field(dict, items=Field(float))),
        "score": Field(list, items=Field(float), optional=True),
        "best_epoch": Field(int, low=-1, high=epochs - 1),
    }
    checked(about, schema, "the progress")
    if len(about["history"]) != about["epoch"] or len({tuple(losses) for losses in about["history"]}) > 1:
        raise InvalidInput(f"expected the same losses for each of {about['epoch']} epochs in the history")
    if about["score"] is not None and len(about["score"]) != len(Score._fields):
        raise InvalidInput(f"expected a score of {len(Score._fields)} numbers, got {len(about['score'])}")
    if not about["best_epoch"] < about["epoch"] or (about["best_epoch"] < 0) != (about["score"] is None):
        raise InvalidInput(f"expected a score and its epoch, got {about['score']} and {about['best_epoch']}")
    return dict(about)


def _tensors(archive: Any, about: Mapping[str, Any], task: "Task", optimizer: Optimizer) -> dict[str, Tensor]:
    """The tensors of the file, which must have the names, types and shapes of this training, and finite numbers."""
    weights, best = task.network.state_dict(), about["best_epoch"] >= 0
    wanted = {f"now.{name}": tensor for name, tensor in weights.items()}
    wanted |= {f"best.{name}": tensor for name, tensor in weights.items()} if best else {}
    names = set(archive.keys())
    for number, parameter in _parameters(optimizer).items():
        if any(name.startswith(f"adam.{number}.") for name in names):  # one without a gradient has no state
            wanted |= {f"adam.{number}.step": torch.zeros(())}
            wanted |= {f"adam.{number}.{name}": parameter for name in ("exp_avg", "exp_avg_sq")}
    strange = wanted.keys() ^ {name for name in names if not name.startswith("carried.")}
    if strange:
        raise InvalidInput(f"expected other tensors than it has, such as {min(strange)!r}")
    for name, tensor in wanted.items():
        part = archive.get_slice(name)
        if (part.get_dtype(), part.get_shape()) != (TYPES.get(tensor.dtype), list(tensor.shape)):
            got = f"{part.get_dtype()} of shape {part.get_shape()}"
            raise InvalidInput(f"expected {name} as {tensor.dtype} of shape {list(tensor.shape)}, got {got}")
    tensors = {name: archive.get_tensor(name) for name in names}
    for name, tensor in tensors.items():
        positive = name.endswith((".step", ".exp_avg_sq"))
        if tensor.is_floating_point() and not (tensor.isfinite().all() and (not positive or (tensor >= 0).all())):
            raise InvalidInput(f"the tensor {name} holds a number that no training leads to")
    return tensors


TYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
"""Types of tensors in safetensors; weights have no others."""


def _parameters(optimizer: Optimizer) -> dict[int, Tensor]:
    """The parameters by the number that the optimizer's state has them under."""
    every = (parameter for group in optimizer.param_groups for parameter in group["params"])
    return dict(enumerate(every))


def _under(tensors: State, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
