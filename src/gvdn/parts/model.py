"""A GVDN that was trained on parts, on the disk: what is shared, and one file of rows for each part."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import gvdn
from gvdn.errors import InvalidInput
from gvdn.graph import Columns
from gvdn.limits import require_file, short
from gvdn.methods.files import bytes_to_text, text_to_bytes
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.choice import ALGORITHM_3, FITTED, JUDGING, WAYS, Report
from gvdn.nn.diffusion import Rate
from gvdn.parts.baseline import TRUST, trust_files
from gvdn.parts.manifest import Manifest, sha256
from gvdn.schema import SETTINGS, Field, Schema, checked, read_json
from gvdn.settings import checked_settings
from gvdn.training.loop import Outcome

FORMAT, VERSION = "gvdn-parts-model", 1
ABOUT, SHARED = "model.json", "shared.safetensors"
AGAIN = "copy or train the model again"
LARGEST = 1 << 40
NONE, TRAIN, VAL, TEST = range(4)
"""What a node was in the training."""
TEXT = "#text"

_ABOUT: Schema = {
    **dict.fromkeys(("format", "gvdn", "identity"), Field(str)),
    **dict.fromkeys(("version", "seed"), Field(int)),
    "settings": SETTINGS,
    "class_names": Field(list, low=1, items=Field(str)),
    "features": Field(int, low=0),
    "feature_names": Field(list, items=Field(str)),
    "columns": Field(dict, optional=True),
    "epoch": Field(int, low=0),
    "score": Field(float, optional=True),
    "history": Field(list, items=Field(dict, items=Field(float))),
    "rate": Field(list, low=2, high=2, items=Field(float, low=0, high=1)),
    "max_norm": Field(float, low=0),
    "recovered": Field(bool),
    "way": Field(str, optional=True),
    "report": Field(dict, optional=True, fields=Report.fields),
    "parts": Field(int, low=1),
    "files": Field(dict, items=Field(str)),
}


class Rows(NamedTuple):
    """What is stored of one part: W_z of the nodes `ids`, and of the nodes `known` of the clean graph the rest."""

    ids: np.ndarray
    W_z: np.ndarray
    known: np.ndarray
    H_emb: np.ndarray
    logits: np.ndarray
    mass: np.ndarray
    own: np.ndarray
    roles: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class PartsModel:
    """What is known of all parts; `rows` reads those of one.

    Attributes:
        method: a GVDN that is not fitted, with the settings.
        identity: the partition that it was trained on; graphs are asked in this one, or in one that is like it.
        shared: heads.W and out.W.
        trusting: whether baselines and a trust model are stored, which diagnoses need.
        way, report: how it was recovered, and why so, as in `GVDN`.
    """

    folder: Path
    method: GVDN
    identity: str
    class_names: tuple[str, ...]
    features: int
    feature_names: tuple[str, ...]
    columns: Columns | None
    seed: int
    outcome: Outcome
    rate: Rate
    max_norm: float
    recovered: bool
    parts: int
    shared: dict[str, np.ndarray]
    trusting: bool = False
    way: str = FITTED
    report: Report | None = None

    @property
    def judges(self) -> bool:
        """Whether a graph is judged by the trust model before the network sees it, or what the network says after."""
        return self.recovered and (self.method.trust or self.way in JUDGING)

    def rows(self, number: int) -> Rows:
        path = self.folder / part_file(number)
        try:
            held = _read(path)
            rows = Rows(
                **{
                    name.removesuffix(TEXT): _words(array) if name.endswith(TEXT) else array
                    for name, array in held.items()
                }
            )
            _require_rows(rows, self.method.hidden, len(self.class_names))
        except (SafetensorError, OSError, TypeError, ValueError) as problem:
            raise InvalidInput(f"{path}: not rows of this model ({problem}); {AGAIN}") from problem
        return rows

    def write(self, folder: Path) -> None:
        """Write what is shared, and the checksums of all files; the rows of the parts are there already."""
        save_file({name: np.ascontiguousarray(one) for name, one in self.shared.items()}, folder / SHARED)
        files = [SHARED, *map(part_file, range(self.parts))]
        files += trust_files(self.parts) if (folder / TRUST).exists() else []
        settings = {name: value for name, value in self.method.get_params().items() if name != "device"}
        about = {
            "format": FORMAT,
            "version": VERSION,
            "gvdn": gvdn.__version__,
            "identity": self.identity,
            "settings": settings,
            "class_names": list(self.class_names),
            "features": self.features,
            "feature_names": list(self.feature_names),
            "columns": None if self.columns is None else self.columns.as_json(),
            "seed": self.seed,
            "epoch": self.outcome.epoch,
            "score": self.outcome.score,
            "history": self.outcome.history,
            "rate": list(self.rate),
            "max_norm": self.max_norm,
            "recovered": self.recovered,
            "way": self.way,
            "report": None if self.report is None else self.report.as_json(),
            "parts": self.parts,
            "files": {name: sha256(folder / name) for name in files},
        }
        (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    def require_parts(self, manifest: Manifest) -> None:
        """Raise unless the nodes that this model knows are in the same parts of a partitioned graph."""
        if self.identity not in (manifest.identity, manifest.like):
            raise InvalidInput(
                f"{manifest.folder} is another partition than the one that {self.folder} was trained on; divide the "
                "graph with gvdn partition --like THE_PARTS_OF_THE_TRAINING"
            )
        if (manifest.features, manifest.feature_names) != (self.features, self.feature_names):
            raise InvalidInput(
                f"the model was trained on {self.features} features, got others in {manifest.folder}; divide the graph "
                "with gvdn partition --like THE_PARTS_OF_THE_TRAINING, which reads its columns alike"
            )


def is_parts_model(folder: str | Path) -> bool:
    """Whether a model was trained on parts."""
    try:
        content = read_json(Path(folder) / ABOUT, AGAIN)
    except (InvalidInput, FileNotFoundError, NotADirectoryError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_model(folder: str | Path, *, device: str = "cpu", checksums: bool = True) -> PartsModel:
    """A model that was trained on parts, after the checksum of every file."""
    path = Path(folder) / ABOUT
    try:
        about = read_json(path, AGAIN)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no model in {folder}; expected the files of gvdn train there") from problem
    if not isinstance(about, dict) or (about.get("format"), about.get("version")) != (FORMAT, VERSION):
        got = short(about.get("format") if isinstance(about, dict) else about)
        raise InvalidInput(f"{path}: expected a model of the format {FORMAT}, version {VERSION}, got {got}")
    try:
        checked(about, _ABOUT, ABOUT)
        wanted = {SHARED, *map(part_file, range(about["parts"]))}
        trusting = TRUST in about["files"]
        way = about.get("way") or (ALGORITHM_3 if about["recovered"] else FITTED)
        if way not in (WAYS if about["recovered"] else (FITTED,)) or (way in JUDGING and not trusting):
            raise ValueError(f"expected a way of recovering as {', '.join(WAYS)}, got {short(way)}")
        wanted |= set(trust_files(about["parts"])) if trusting else set()
        if set(about["files"]) != wanted:
            raise ValueError("expected the checksums of all its files")
        if checksums:
            for name in sorted(wanted):
                if not (Path(folder) / name).is_file() or sha256(Path(folder) / name) != about["files"][name]:
                    raise ValueError(f"{name} is missing, damaged or of another model")
        defaults = {name: value for name, value in GVDN.defaults().items() if name != "device"}
        method = GVDN(**checked_settings("gvdn", about["settings"], defaults), device=device)
        columns = None if about.get("columns") is None else Columns.from_json(about["columns"])
        shared, classes = _read(Path(folder) / SHARED), len(about["class_names"])
        _require_numbers("heads.W", shared["heads.W"], (about["features"], 3 * method.hidden), "float32")
        _require_numbers("out.W", shared["out.W"], (method.hidden, classes), "float32")
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(f"{folder}: not a whole model ({problem}); {AGAIN}") from problem
    return PartsModel(
        folder=Path(folder),
        method=method,
        identity=about["identity"],
        class_names=tuple(about["class_names"]),
        features=about["features"],
        feature_names=tuple(about["feature_names"]),
        columns=columns,
        seed=about["seed"],
        outcome=Outcome(about["epoch"], about.get("score"), about["history"]),
        rate=Rate(*map(float, about["rate"])),
        max_norm=float(about["max_norm"]),
        recovered=about["recovered"],
        parts=about["parts"],
        shared=shared,
        trusting=trusting,
        way=way,
        report=None if about.get("report") is None else Report(**about["report"]),
    )


def write_rows(rows: Rows, folder: Path, number: int) -> None:
    """Write what is stored of one part."""
    held: dict[str, np.ndarray] = {}
    for name, array in rows._asdict().items():
        held |= {name + TEXT: text_to_bytes(array)} if array.dtype.kind == "U" else {name: np.ascontiguousarray(array)}
    save_file(held, folder / part_file(number))


def _require_rows(rows: Rows, hidden: int, classes: int) -> None:
    """Raise unless every array has its shape, and finite numbers."""
    for name in ("ids", "known"):
        if getattr(rows, name).ndim != 1 or getattr(rows, name).dtype.kind not in "iU":
            raise ValueError(f"expected whole numbers or text as {name}")
    n, known = len(rows.ids), len(rows.known)
    wanted: dict[str, tuple[int, ...]] = {"W_z": (n, hidden), "H_emb": (known, hidden), "logits": (known, classes)}
    wanted |= dict.fromkeys(("mass", "own", "roles", "labels"), (known,))
    for name, shape in wanted.items():
        _require_numbers(name, getattr(rows, name), shape, {"roles": "uint8", "labels": "int64"}.get(name, "float32"))
    if rows.labels.size and not (rows.labels.min() >= -1 and rows.labels.max() < classes):
        raise ValueError(f"expected labels from -1 to {classes - 1}")


def _require_numbers(name: str, array: np.ndarray, shape: tuple[int, ...], kind: str) -> None:
    if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"expected finite numbers, {kind} of shape {shape}, as {name}, got {got}")


def _words(array: np.ndarray) -> np.ndarray:
    if array.ndim != 2 or array.dtype != np.uint8 or not array.shape[1]:
        raise ValueError("expected text as bytes")
    return bytes_to_text(array)


def part_file(number: int) -> str:
    return f"part-{number}.safetensors"


def _read(path: Path) -> dict[str, Any]:
    require_file(path, LARGEST)
    return load_file(path)
