"""A fitted method on disk: `model.json` describes it, `weights.safetensors` holds the arrays; nothing is pickled."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import gvdn
from gvdn.errors import InvalidInput
from gvdn.files import whole_folder
from gvdn.graph import Columns
from gvdn.methods.contract import METHODS
from gvdn.nn.device import usable_device
from gvdn.seeds import borrow
from gvdn.training.loop import Outcome

if TYPE_CHECKING:
    from gvdn.methods.base import Base

FORMAT = "gvdn-model"
VERSION = 1
NETWORK = "network."
TEXT = ".text"
"""The ending of the names of text arrays, which are bytes in the file."""


def save_model(model: "Base", folder: Path, *, force: bool) -> None:
    """Write the settings and what was learned; whole or not at all."""
    if not model.is_fitted:
        raise InvalidInput(f"this {type(model).__name__} is not fitted yet; there is nothing to save")
    arrays = {NETWORK + name: tensor.detach().cpu().numpy() for name, tensor in model.network_.state_dict().items()}
    for name, array in model.arrays().items():
        arrays |= {name + TEXT: text_to_bytes(array)} if array.dtype.kind == "U" else {name: array}
    settings = {name: value for name, value in model.get_params().items() if name != "device"}
    about = {
        "method": model.name,
        "gvdn": gvdn.__version__,
        "settings": settings,
        "class_names": list(model.class_names_),
        "features": model.features_,
        "feature_names": list(model.feature_names_),
        "columns": None if model.columns_ is None else model.columns_.as_json(),
        "seed": model.seed_,
        "epoch": model.outcome_.epoch,
        "score": model.outcome_.score,
        "history": model.outcome_.history,
        "arrays": sorted(arrays),
    }
    save_checkpoint(folder, about | model.facts(), arrays, force=force)


def load_model(folder: str | Path, *, device: str = "cpu", cls: type[Any] | None = None) -> "Base":
    """The model that `save` wrote, of whatever registered method it is; or of this class, registered or not.

    >>> import tempfile, gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> model = gvdn.make_method("mlp", epochs=2, hidden=8).fit(graph, gvdn.random_split(graph, seed=0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     load_model(f"{folder}/model")
    MLP(hidden=8, dropout=0.5, learning_rate=0.01, weight_decay=0.0005, epochs=2, device='cpu')
    """
    usable_device(device)
    about, arrays = load_checkpoint(Path(folder))
    method = about.get("method")
    found: Any = METHODS.get(str(method)) if cls is None else cls if method == cls.name else None
    if found is None:
        wanted = "any" if cls is None else cls.name
        raise InvalidInput(f"{folder}: expected a model of the method {wanted}, got {method}")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput(f"{folder}: the weights {name} hold NaN or infinity; copy or train the model again")
    try:
        return _build(found(**about["settings"], device=device), about, arrays)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        reason = " ".join(str(problem).split())
        raise InvalidInput(f"{folder}: not a whole model ({reason}); copy or train it again") from problem


def _build(model: Any, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    model.class_names_ = tuple(about["class_names"])
    if len(set(model.class_names_)) < len(model.class_names_):
        raise KeyError("class names that differ")
    model.features_, model.feature_names_ = about["features"], tuple(about["feature_names"])
    model.columns_ = None if about.get("columns") is None else Columns.from_json(about["columns"])
    model.outcome_ = Outcome(about["epoch"], about["score"], about["history"])
    model.seed_ = int(about["seed"])
    others = {
        name.removesuffix(TEXT): bytes_to_text(array) if name.endswith(TEXT) else array
        for name, array in arrays.items()
        if not name.startswith(NETWORK)
    }
    model.restore(others, about)
    with borrow(model.seed_, "load"):
        network = model.build(model.features_, len(model.class_names_))
    state = {name.removeprefix(NETWORK): torch.from_numpy(a) for name, a in arrays.items() if name.startswith(NETWORK)}
    network.load_state_dict(state)
    model.network_ = network.to(model.device).eval()
    return model


def save_checkpoint(folder: Path, about: dict[str, Any], arrays: dict[str, np.ndarray], *, force: bool) -> None:
    """Write a folder; whole or not at all."""
    with whole_folder(folder, force=force) as draft:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, draft / "weights.safetensors")
        content = {"format": FORMAT, "version": VERSION} | about
        (draft / "model.json").write_text(json.dumps(content, indent=2) + "\n")


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `save_checkpoint` wrote; raises InvalidInput for anything else."""
    about, weights = _read_about(folder / "model.json"), folder / "weights.safetensors"
    try:
        arrays = load_file(weights)
    except (SafetensorError, OSError) as problem:
        raise InvalidInput(f"{weights}: not a whole safetensors file ({problem}); copy or train it again") from problem
    missing = [name for name in about.get("arrays", []) if name not in arrays]
    if missing:
        raise InvalidInput(f"{folder}: the weights lack {', '.join(missing)}; model.json belongs to another file")
    return about, arrays


def text_to_bytes(words: np.ndarray) -> np.ndarray:
    """Text as an N x width array of bytes, since safetensors holds only numbers."""
    encoded = np.char.encode(words, "utf-8")
    return encoded.view(np.uint8).reshape(len(words), encoded.dtype.itemsize).copy()


def bytes_to_text(array: np.ndarray) -> np.ndarray:
    """The text that `text_to_bytes` was given."""
    return np.char.decode(np.ascontiguousarray(array).view(f"S{array.shape[1]}").ravel(), "utf-8")


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text())
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no model in {path.parent}; expected the files of gvdn train there") from problem
    except (ValueError, OSError) as problem:
        raise InvalidInput(f"{path}: not whole JSON ({problem}); copy or train the model again") from problem
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a model of the format {FORMAT}, got something else")
    given = about.get("version")
    if given != VERSION:
        raise InvalidInput(f"{path}: expected model version {VERSION}, got {given}; a newer gvdn wrote it: update gvdn")
    return about
