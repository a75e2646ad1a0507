"""Checkpoints of a training on parts: one file for each part, so that any number of workers can read them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer

from gvdn.errors import InvalidInput
from gvdn.limits import require_file
from gvdn.nn.samplers import Replacement
from gvdn.schema import Field, Schema, checked, read_json
from gvdn.training.selection import WORST, Score

if TYPE_CHECKING:
    from gvdn.parts.loop import Trainer

ABOUT, SHARED = "about.json", "shared.safetensors"
AGAIN = "delete it to start again"
LARGEST = 1 << 40
"""Bytes of a file: a part may be large, and the progress is of this machine."""
_ABOUT: Schema = {
    "identity": Field(str),
    "epoch": Field(int, low=1),
    "history": Field(list, items=Field(dict, items=Field(float))),
    "score": Field(list, items=Field(float), optional=True, low=2, high=2),
    "best_epoch": Field(int, low=-1),
}


def save(progress: Path, trainer: Trainer, identity: str) -> None:
    """Write the state after an epoch: every worker its own parts, the first one what is shared; older ones go.

    The folder of an epoch gets its name when all of it is there.
    """
    group = trainer.objective.routes.group
    whole = progress / f"epoch-{trainer.epoch:06d}"
    draft = whole.with_name(f"{whole.name}.draft")
    draft.mkdir(parents=True, exist_ok=True)
    for site in trainer.objective.sites:
        tensors = {"now": site.weights.W_z.detach(), **_adam(trainer.own.get(site.number))}
        tensors |= {"best": trainer.best_rows[site.number]} if trainer.best else {}
        if site.replacement is not None:
            tensors |= {f"carried.{name}": part for name, part in site.replacement._asdict().items()}
        _write(tensors, draft / _part_file(site.number))
    group.wait()
    if group.rank == 0:
        tensors = {f"now.{name}": one.detach() for name, one in trainer.shared.items()}
        tensors |= {f"best.{name}": trainer.best[name] for name in trainer.shared if trainer.best}
        _write(tensors | _adam(trainer.adam), draft / SHARED)
        about = {
            "identity": identity,
            "epoch": trainer.epoch,
            "history": trainer.history,
            "score": list(trainer.best_score) if trainer.best else None,
            "best_epoch": trainer.best_epoch,
        }
        (draft / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        if whole.exists():
            shutil.rmtree(whole)
        draft.rename(whole)
        for older in found(progress):
            if older != whole:
                shutil.rmtree(older)
    group.wait()


def found(progress: Path) -> list[Path]:
    """The whole checkpoints in a folder, the oldest first."""
    names = sorted(progress.iterdir()) if progress.is_dir() else []
    return [path for path in names if re.fullmatch(r"epoch-\d{6}", path.name)]


def load(progress: Path, trainer: Trainer, identity: str, epochs: int) -> None:
    """Go on from the last checkpoint, if there is one, whoever wrote it and on however many workers."""
    trainer.objective.routes.group.wait()
    there = found(progress)
    if not there:
        return
    folder, device = there[-1], trainer.objective.device
    try:
        about = checked(read_json(folder / ABOUT, AGAIN), _ABOUT, "the checkpoint")
        if about["identity"] != identity or about["epoch"] > epochs or len(about["history"]) != about["epoch"]:
            raise ValueError("it is of another training")
        trainer.epoch, trainer.history, trainer.best_epoch = about["epoch"], about["history"], about["best_epoch"]
        scored = about.get("score") is not None
        trainer.best_score, trainer.best = Score(*about["score"]) if scored else WORST, {}
        tensors = _read(folder / SHARED, device)
        for name, parameter in trainer.shared.items():
            _put(parameter, tensors[f"now.{name}"])
            if scored:
                trainer.best[name] = tensors[f"best.{name}"]
        _restore(trainer.adam, tensors)
        for site in trainer.objective.sites:
            tensors = _read(folder / _part_file(site.number), device)
            _put(site.weights.W_z, tensors["now"])
            if scored:
                trainer.best_rows[site.number] = tensors["best"]
            if site.number in trainer.own:
                _restore(trainer.own[site.number], tensors)
            carried = {
                name.removeprefix("carried."): one for name, one in tensors.items() if name.startswith("carried.")
            }
            columns = site.part.links.shape[1]
            site.replacement = Replacement(**carried).checked(columns) if carried else None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        why = (str(problem).splitlines() or ["?"])[0]
        raise InvalidInput(f"{folder}: not the progress of this training ({why}); {AGAIN}") from problem


def _part_file(number: int) -> str:
    return f"part-{number}.safetensors"


def _adam(optimizer: Optimizer | None) -> dict[str, Tensor]:
    """The state of an optimizer, by the number of the parameter and the name of the moment."""
    states: dict[int, dict[str, Any]] = {} if optimizer is None else optimizer.state_dict()["state"]
    return {f"adam.{number}.{name}": one for number, state in states.items() for name, one in state.items()}


def _restore(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    whole = optimizer.state_dict()
    states: dict[int, dict[str, Tensor]] = {}
    for name, one in tensors.items():
        if name.startswith("adam."):
            number, moment = name.removeprefix("adam.").split(".", 1)
            states.setdefault(int(number), {})[moment] = one
    optimizer.load_state_dict(whole | {"state": states})


@torch.no_grad()
def _put(parameter: Tensor, value: Tensor) -> None:
    if parameter.shape != value.shape:
        raise ValueError(f"expected weights of shape {tuple(parameter.shape)}, got {tuple(value.shape)}")
    parameter.copy_(value)


def _write(tensors: dict[str, Tensor], path: Path) -> None:
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)


def _read(path: Path, device: torch.device) -> dict[str, Tensor]:
    require_file(path, LARGEST)
    return load_file(path, device=str(device))
