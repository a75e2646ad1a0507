"""A fitted method on disk: `model.json` describes it, `weights.safetensors` holds the arrays; nothing is pickled."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from gvdn.errors import InvalidInput
from gvdn.files import whole_folder

FORMAT = "gvdn-model"
VERSION = 1


def save_checkpoint(folder: Path, about: dict[str, Any], arrays: dict[str, np.ndarray], *, force: bool) -> None:
    """Write a folder; whole or not at all."""
    with whole_folder(folder, force=force) as draft:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, draft / "weights.safetensors")
        content = {"format": FORMAT, "version": VERSION} | about
        (draft / "model.json").write_text(json.dumps(content, indent=2) + "\n")


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `save_checkpoint` wrote; raises InvalidInput for anything else."""
    about = _read_about(folder / "model.json")
    try:
        arrays = load_file(folder / "weights.safetensors")
    except (SafetensorError, OSError) as problem:
        raise InvalidInput(
            f"{folder / 'weights.safetensors'}: not a whole safetensors file ({problem}); copy or train it again"
        ) from problem
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
    if about.get("version") != VERSION:
        version = about.get("version")
        raise InvalidInput(
            f"{path}: expected model version {VERSION}, got {version}; a newer gvdn wrote it: update gvdn"
        )
    return about
