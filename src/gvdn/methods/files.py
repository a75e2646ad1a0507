"""A fitted method as files and back: settings and history as JSON, weights and ids as safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import gvdn
from gvdn.errors import InvalidInput
from gvdn.methods.contract import METHODS
from gvdn.nn.device import usable_device
from gvdn.training.checkpoint import bytes_to_text, load_checkpoint, save_checkpoint, text_to_bytes
from gvdn.training.loop import Outcome

if TYPE_CHECKING:
    from gvdn.methods.fitted import Fitted

NETWORK = "network."
TEXT = ".text"
"""Arrays of text carry this ending in the file, where they are bytes."""


def save_model(model: Fitted, folder: Path, *, force: bool) -> None:
    """Settings and what was learned; whole or not at all."""
    if not hasattr(model, "network_"):
        raise InvalidInput(f"this {type(model).__name__} is not fitted yet; there is nothing to save")
    arrays = {NETWORK + name: tensor.detach().cpu().numpy() for name, tensor in model.network_.state_dict().items()}
    for name, array in model.kept().items():
        arrays |= {name + TEXT: text_to_bytes(array)} if array.dtype.kind == "U" else {name: array}
    settings = model.get_params()
    del settings["device"]
    about = {
        "method": model.name,
        "gvdn": gvdn.__version__,
        "settings": settings,
        "class_names": list(model.class_names_),
        "features": model.features_,
        "feature_names": list(model.feature_names_),
        "seed": model.seed_,
        "epoch": model.outcome_.epoch,
        "score": model.outcome_.score,
        "history": model.outcome_.history,
        "arrays": sorted(arrays),
    }
    save_checkpoint(folder, about | model.facts(), arrays, force=force)


def load_model(folder: str | Path, *, device: str = "cpu", only: str | None = None) -> Fitted:
    """The model that `save_model` wrote, of whatever method it is, or of one method only."""
    usable_device(device)
    folder = Path(folder)
    about, arrays = load_checkpoint(folder)
    method = about.get("method")
    if not isinstance(method, str) or method not in METHODS or only not in (None, method):
        raise InvalidInput(f"{folder}: expected a model of the method {only or 'any'}, got {method}")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput(f"{folder}: the weights {name} hold NaN or infinity; copy or train the model again")
    try:
        return _build(METHODS[method](**about["settings"], device=device), about, arrays)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        reason = " ".join(str(problem).split())
        raise InvalidInput(f"{folder}: not a whole model ({reason}); copy or train it again") from problem


def _build(model: Fitted, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Fitted:
    model.class_names_ = tuple(about["class_names"])
    if len(set(model.class_names_)) < len(model.class_names_):
        raise KeyError("class names that differ")
    model.features_, model.feature_names_ = about["features"], tuple(about["feature_names"])
    model.outcome_ = Outcome(about["epoch"], about["score"], about["history"])
    model.seed_ = int(about["seed"])
    kept = {
        name.removesuffix(TEXT): bytes_to_text(array) if name.endswith(TEXT) else array
        for name, array in arrays.items()
        if not name.startswith(NETWORK)
    }
    model.restore(kept, about)
    network = model.build(model.features_, len(model.class_names_))
    state = {name.removeprefix(NETWORK): torch.from_numpy(a) for name, a in arrays.items() if name.startswith(NETWORK)}
    network.load_state_dict(state)
    model.network_ = network.to(model.device).eval()
    return model
