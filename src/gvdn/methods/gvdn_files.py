"""A fitted GVDN as files and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

import gvdn
from gvdn.errors import InvalidInput
from gvdn.methods.memory import Memory
from gvdn.nn.device import usable_device
from gvdn.nn.encoder import Encoder
from gvdn.nn.schedule import Rate
from gvdn.training.checkpoint import bytes_to_text, load_checkpoint, save_checkpoint, text_to_bytes
from gvdn.training.loop import Outcome

if TYPE_CHECKING:
    from gvdn.methods.gvdn import GVDN

TEXT = ".text"
"""Arrays of text carry this ending in the file, where they are bytes."""


def save(model: GVDN, folder: Path, *, force: bool) -> None:
    """Settings and what was learned; ids travel with their rows."""
    if not hasattr(model, "network_"):
        raise InvalidInput("this GVDN is not fitted yet; there is nothing to save")
    memory = model.memory_
    arrays = {f"network.{name}": _array(tensor) for name, tensor in model.network_.state_dict().items()}
    arrays |= {"memory.H_emb": _array(memory.H_emb), "memory.logits": _array(memory.logits)}
    arrays |= {"memory.mass": memory.mass, "train_labels": model.train_labels_}
    for name, ids in (("ids", model.ids_), ("memory.ids", memory.ids), ("train_ids", model.train_ids_)):
        arrays |= {name + TEXT: text_to_bytes(ids)} if ids.dtype.kind == "U" else {name: ids}
    settings = {field.name: getattr(model, field.name) for field in dataclasses.fields(model) if field.name != "device"}
    about = {
        "method": model.name,
        "gvdn": gvdn.__version__,
        "settings": settings,
        "class_names": list(model.class_names_),
        "features": model.features_,
        "feature_names": list(model.feature_names_),
        "seed": model.seed_,
        "recovered": model.recovered_,
        "rate": list(model.rate_),
        "longest_row": memory.longest_row,
        "epoch": model.outcome_.epoch,
        "score": model.outcome_.score,
        "history": model.outcome_.history,
        "arrays": sorted(arrays),
    }
    save_checkpoint(folder, about, arrays, force=force)


def load(cls: type[GVDN], folder: Path, *, device: str) -> GVDN:
    """The model that `save` wrote, on a device."""
    usable_device(device)
    about, arrays = load_checkpoint(folder)
    if about.get("method") != cls.name:
        raise InvalidInput(f"{folder}: expected a model of the method {cls.name}, got {about.get('method')}")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput(f"{folder}: the weights {name} hold NaN or infinity; copy or train the model again")
    try:
        return _build(cls, about, arrays, device)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        reason = " ".join(str(problem).split())
        raise InvalidInput(f"{folder}: not a whole model ({reason}); copy or train it again") from problem


def _build(cls: type[GVDN], about: dict[str, Any], arrays: dict[str, np.ndarray], device: str) -> GVDN:
    model = cls(**about["settings"], device=device)
    model.features_, model.feature_names_ = about["features"], tuple(about["feature_names"])
    model.ids_, model.train_ids_ = _ids(arrays, "ids"), _ids(arrays, "train_ids")
    model.train_labels_ = arrays["train_labels"]
    model.class_names_ = tuple(about["class_names"])
    if len(set(model.class_names_)) < len(model.class_names_):
        raise KeyError("class names that differ")
    network = Encoder(about["features"], model.hidden, len(model.class_names_), len(model.ids_), model.aggregator)
    prefix = "network."
    state = {name.removeprefix(prefix): torch.from_numpy(a) for name, a in arrays.items() if name.startswith(prefix)}
    network.load_state_dict(state)
    model.network_ = network.to(device)
    model.memory_ = Memory(
        _ids(arrays, "memory.ids"),
        torch.from_numpy(arrays["memory.H_emb"]).to(device),
        torch.from_numpy(arrays["memory.logits"]).to(device),
        arrays["memory.mass"],
        float(about["longest_row"]),
    )
    model.rate_ = Rate(*(float(factor) for factor in about["rate"]))
    model.seed_, model.recovered_ = int(about["seed"]), bool(about["recovered"])
    model.outcome_ = Outcome(about["epoch"], about["score"], about["history"])
    return model


def _ids(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    return bytes_to_text(arrays[name + TEXT]) if name + TEXT in arrays else arrays[name]


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
