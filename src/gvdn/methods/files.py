"""A fitted method on disk: `model.json` describes it, `weights.safetensors` holds the arrays; nothing is pickled.

`model.json` holds the sha256 of every other file, against damage; it is no signature. What the files say is compared
with what the method declares before anything of that size is made.
"""

import hashlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import gvdn
from gvdn.errors import InvalidInput
from gvdn.files import whole_folder
from gvdn.graph import Columns
from gvdn.limits import most_bytes, require_file, short
from gvdn.methods.contract import METHODS
from gvdn.methods.labels import STORED, StoredLabels
from gvdn.methods.stored import TEXT, Tensor, declared_sizes, require_names, require_values
from gvdn.metrics import Decision
from gvdn.nn.device import usable_device
from gvdn.schema import SETTINGS, Field, Schema, checked, read_json
from gvdn.settings import checked_settings
from gvdn.training.loop import Outcome

if TYPE_CHECKING:
    from gvdn.methods.base import Base

FORMAT = "gvdn-model"
VERSION = 3
WEIGHTS = "weights.safetensors"
NETWORK = "network."
AGAIN = "copy or train the model again"
_OLDER = {
    1: "it has no checksums: train the model again",
    2: "it is of an earlier gvdn, before there was a trust model: train the model again",
}
"""What to do with a model of an earlier version."""

_NAMES = Field(list, items=Field(str))
_ABOUT: Schema = {
    **dict.fromkeys(("format", "method", "gvdn"), Field(str)),
    "version": Field(int),
    "settings": SETTINGS,
    "class_names": Field(list, low=1, items=Field(str)),
    "features": Field(int, low=0, high=1 << 31),
    "feature_names": _NAMES,
    "columns": Field(dict, optional=True),
    "seed": Field(int),
    "epoch": Field(int, low=0),
    "score": Field(float, optional=True),
    "history": Field(list, items=Field(dict, items=Field(float))),
    "decision": Field(list, optional=True, low=1, items=Field(list, low=1, items=Field(float, low=0))),
    "files": Field(dict, items=Field(str)),
}
EVERY_MODEL = STORED | {"val_probs": "shares w classes"}
"""The arrays that every method saves: the labels it was given, and its predictions for validation nodes, if stored."""


def save_model(model: "Base", folder: Path, *, force: bool) -> None:
    """Write the settings and what was learned; whole or not at all."""
    if not model.is_fitted:
        raise InvalidInput(f"this {type(model).__name__} is not fitted yet; there is nothing to save")
    arrays = {NETWORK + name: tensor.detach().cpu().numpy() for name, tensor in model.network_.state_dict().items()}
    probs = model.val_probs_ if model.val_probs_ is not None else np.empty((0, len(model.class_names_)))
    for name, array in (model.arrays() | model.late_arrays() | model.labels_.arrays() | {"val_probs": probs}).items():
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
        "decision": None if model.decision_ is None else model.decision_.costs.tolist(),
    }
    save_checkpoint(folder, about | model.facts(), arrays, force=force)


def load_model(folder: str | Path, *, device: str = "cpu", cls: type[Any] | None = None) -> "Base":
    """The model that `save` wrote, of whatever registered method it is; or of this class, registered or not.

    >>> import tempfile, gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> model = gvdn.make_method("mlp", epochs=2, hidden=8).fit(graph, gvdn.random_split(graph, seed=0), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     load_model(f"{folder}/model").get_params()["hidden"]
    8
    """
    usable_device(device)
    about = read_about(Path(folder))
    method = about.get("method")
    found: Any = METHODS.get(str(method)) if cls is None else cls if method == cls.name else None
    if found is None:
        wanted = "any" if cls is None else cls.name
        raise InvalidInput(f"{folder}: expected a model of the method {wanted}, got {method}")
    try:
        _require_whole(about, found)
        defaults = {name: value for name, value in found.defaults().items() if name != "device"}
        model = found(**checked_settings(found.name, about["settings"], defaults), device=device)
        return _build(model, about, Path(folder) / WEIGHTS)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError, OSError, SafetensorError) as problem:
        reason = " ".join(str(problem).split())
        raise InvalidInput(f"{folder}: not a whole model ({reason}); copy or train it again") from problem


def _require_whole(about: dict[str, Any], method: Any) -> None:
    """Raise unless the fields are those of a model of this method, and agree with each other."""
    checked(about, _ABOUT | method.known_facts, "model.json")
    classes, features = about["class_names"], about["feature_names"]
    if len(set(classes)) < len(classes) or len(set(features)) < len(features):
        raise InvalidInput("expected names of classes and features that differ")
    if features and len(features) != about["features"]:
        raise InvalidInput(f"expected a name for each of the {about['features']} features, got {len(features)} names")
    if about["epoch"] >= max(len(about["history"]), 1):
        raise InvalidInput(f"expected an epoch of the {len(about['history'])} in the history, got {about['epoch']}")


def _build(model: Any, about: dict[str, Any], weights: Path) -> Any:
    model.class_names_ = tuple(about["class_names"])
    model.features_, model.feature_names_ = about["features"], tuple(about["feature_names"])
    model.columns_ = None if about.get("columns") is None else Columns.from_json(about["columns"])
    model.outcome_ = Outcome(about["epoch"], about["score"], about["history"])
    model.seed_ = about["seed"]
    sizes = {"classes": len(model.class_names_), "features": model.features_, "hidden": model.hidden}
    with safe_open(weights, framework="np") as archive:
        held = header(archive)
        mine = {name: tensor for name, tensor in held.items() if not name.startswith(NETWORK)}
        declared = EVERY_MODEL | dict(model.saved)
        sizes = declared_sizes(mine, declared, sizes)
        if sizes["w"] not in (0, sizes["v"]):
            raise InvalidInput(f"expected val_probs of the {sizes['v']} validation nodes, got {sizes['w']} rows")
        others = {name: archive.get_tensor(name) for name in mine}
        plain = {
            name.removesuffix(TEXT): bytes_to_text(array) if name.endswith(TEXT) else array
            for name, array in others.items()
        }
        require_values(plain, declared, sizes)
        model.labels_, model.val_probs_ = StoredLabels.restored(plain), plain["val_probs"] if sizes["w"] else None
        model.decision_ = None if about["decision"] is None else _decision(about["decision"], sizes["classes"])
        model.restore(plain, about)
        with torch.device("meta"):  # shapes without memory: the settings may ask for any size
            network = model.build(model.features_, len(model.class_names_), None)
        _require_network(network, {name: held[name] for name in held.keys() - mine.keys()})
        state = {name.removeprefix(NETWORK): archive.get_tensor(name) for name in held.keys() - mine.keys()}
    require_values(state, {}, sizes)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()}, assign=True)
    model.network_ = network.to(model.device).eval()
    return model


def _decision(costs: list[list[float]], classes: int) -> Decision:
    if len(costs) != classes or any(len(row) != classes for row in costs):
        raise InvalidInput(f"expected {classes} x {classes} costs of a decision")
    return Decision(np.array(costs))


def header(archive: Any) -> dict[str, Tensor]:
    """The type and shape of every array of an open safetensors file, of which nothing else is read."""
    parts = {name: archive.get_slice(name) for name in archive.keys()}  # noqa: SIM118
    return {name: Tensor(TYPES.get(part.get_dtype(), "?"), tuple(part.get_shape())) for name, part in parts.items()}


TYPES = {"F64": "float64", "F32": "float32", "I64": "int64", "U8": "uint8", "U64": "uint64", "BOOL": "bool"}
"""Types of arrays in safetensors; a model has no others."""


def _require_network(network: Any, held: dict[str, Tensor]) -> None:
    """Raise unless the weights have the shapes and types of the network that the settings ask for."""
    wanted = {
        NETWORK + name: Tensor(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for name, tensor in network.state_dict().items()
    }
    require_names(held, wanted)
    for name, tensor in wanted.items():
        if held[name] != tensor:
            got = f"{held[name].dtype} of shape {held[name].shape}"
            raise InvalidInput(f"the settings ask for {name} as {tensor.dtype} of shape {tensor.shape}, got {got}")


def save_checkpoint(folder: Path, about: dict[str, Any], arrays: dict[str, np.ndarray], *, force: bool) -> None:
    """Write a folder; whole or not at all."""
    with whole_folder(folder, force=force) as draft:
        save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, draft / WEIGHTS)
        files = {path.name: _sha256(path) for path in sorted(draft.iterdir())}
        size = (draft / WEIGHTS).stat().st_size
        content = {"format": FORMAT, "version": VERSION} | about | {"files": files}
        (draft / "model.json").write_text(json.dumps(content, indent=2) + "\n")
    if size > most_bytes():
        said = f"{folder}: a file of {size:,} bytes, and at most {most_bytes():,} are read"
        warnings.warn(f"{said}; to load it, set GVDN_MAX_BYTES to {size} or more", stacklevel=4)


def read_about(folder: Path) -> dict[str, Any]:
    """What `model.json` says, after the checksum of every other file; raises InvalidInput for anything else."""
    path = folder / "model.json"
    try:
        about = read_json(path, AGAIN)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no model in {folder}; expected the files of gvdn train there") from problem
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a model of the format {FORMAT}, got something else")
    given = about.get("version")
    if given != VERSION:
        do = _OLDER.get(given) if isinstance(given, int) else None
        do = do or "a newer gvdn wrote it: update gvdn"
        raise InvalidInput(f"{path}: expected model version {VERSION}, got {short(given)}; {do}")
    files = about.get("files")
    if not isinstance(files, dict) or WEIGHTS not in files:
        raise InvalidInput(f"{path}: expected the sha256 of {WEIGHTS} under files, got none; {AGAIN}")
    for name, wanted in files.items():
        _require_checksum(folder, name, wanted)
    return about


def _require_checksum(folder: Path, name: str, wanted: Any) -> None:
    if Path(name).name != name or name == "model.json":
        raise InvalidInput(f"{folder}: expected names of files of this folder in model.json, got {short(name)}")
    path = folder / name
    try:
        require_file(path)
        found = _sha256(path)
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{path}: not a file of this model ({problem}); {AGAIN}") from problem
    if found != wanted:
        wrong = "the file is damaged, or of another model: its sha256 is not the one of model.json"
        raise InvalidInput(f"{path}: {wrong}; {AGAIN}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_to_bytes(words: np.ndarray) -> np.ndarray:
    """Text as an N x width array of bytes, since safetensors holds only numbers."""
    encoded = np.char.encode(words, "utf-8")
    return encoded.view(np.uint8).reshape(len(words), encoded.dtype.itemsize).copy()


def bytes_to_text(array: np.ndarray) -> np.ndarray:
    """The text that `text_to_bytes` was given."""
    return np.char.decode(np.ascontiguousarray(array).view(f"S{array.shape[1]}").ravel(), "utf-8")
