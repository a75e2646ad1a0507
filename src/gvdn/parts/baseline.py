"""What a model on parts stores of the clean graph for diagnoses and trust: a file for each part, and one for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gvdn.errors import InvalidInput
from gvdn.limits import require_file
from gvdn.methods.files import bytes_to_text, header, text_to_bytes
from gvdn.methods.stored import TEXT, declared_sizes, require_values
from gvdn.trust.baseline import Baseline
from gvdn.trust.stored import BASELINE, LazyBaseline, baseline_arrays, restored_baseline

TRUST = "trust.safetensors"
AGAIN = "copy or train the model again"
LARGEST = 1 << 40

_OF_NODES = {
    "baseline.ids": "ids b",
    "baseline.edges": "int64 e 2",
    "baseline.answers": "shares b classes",
    "baseline.own": "shares b classes",
    "baseline.digests": "uint64 b",
}
"""Those arrays of a baseline that lie in the files of the parts."""
_SHARED = {name: words for name, words in BASELINE.items() if name not in _OF_NODES} | {"sizes": "int64 parts"}
_PART = {
    "ids": "ids b",
    "answers": "shares b classes",
    "own": "shares b classes",
    "digests": "uint64 b",
    "kept": "bool b",
    "starts": "int64 c",
    "far": "int64 e",
}


@dataclass(frozen=True, eq=False)
class PartBaseline:
    """What is stored of the nodes of one part of the clean graph.

    Attributes:
        ids: the node of each row, in the order of the part.
        answers, own, digests: as in `Baseline`.
        kept: whether what is stored of it may be used.
        starts, far: CSR of its links: the other ends, as positions among the nodes of all parts, one after another.
    """

    ids: np.ndarray
    answers: np.ndarray
    own: np.ndarray
    digests: np.ndarray
    kept: np.ndarray
    starts: np.ndarray
    far: np.ndarray

    def only(self, known: np.ndarray) -> PartBaseline:
        """The same, of which only what is stored of these nodes may be used."""
        return replace(self, kept=self.kept & np.isin(self.ids, known))

    @property
    def near(self) -> np.ndarray:
        """The row of the end in this part of each link."""
        return np.repeat(np.arange(len(self.ids)), np.diff(self.starts))

    def write(self, folder: Path, number: int) -> None:
        _write(vars(self), folder / baseline_file(number))


@dataclass(frozen=True, eq=False)
class SharedBaseline:
    """What is stored once: student, trust model and calibration, and the nodes of each part of the clean graph."""

    lazy: LazyBaseline
    sizes: np.ndarray

    def write(self, folder: Path) -> None:
        held = {name: array for name, array in baseline_arrays(self.lazy).items() if name not in _OF_NODES}
        _write(held | {"sizes": self.sizes}, folder / TRUST)

    @property
    def offsets(self) -> np.ndarray:
        """The position of the first node of each part, and behind them the number of all nodes."""
        return np.concatenate([[0], np.cumsum(self.sizes)])


def complete(baseline: Baseline, trusting: object) -> LazyBaseline:
    """A baseline and a trust model that were computed already."""
    return LazyBaseline(baseline, lambda same, _: same, trusting, baseline)  # type: ignore[arg-type]


def read_shared(folder: Path, features: int, classes: int, parts: int) -> SharedBaseline:
    """What `SharedBaseline.write` wrote."""
    path = folder / TRUST
    try:
        held = _read(path, _SHARED, {"features": features, "classes": classes, "parts": parts})
        if held["sizes"].min() < 0:
            raise ValueError("expected sizes of the parts from 0 on")
        empty = np.zeros((0, classes), dtype=np.float32)
        held |= {"baseline.ids": np.zeros(0, np.int64), "baseline.edges": np.zeros((0, 2), np.int64)}
        held |= {"baseline.answers": empty, "baseline.own": empty, "baseline.digests": np.zeros(0, np.uint64)}
        return SharedBaseline(restored_baseline(held), held["sizes"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(f"{path}: not the trust of this model ({problem}); {AGAIN}") from problem


def read_baseline(folder: Path, number: int, classes: int, sizes: np.ndarray) -> PartBaseline:
    """What is stored of one part; `sizes` are those of all parts of the clean graph."""
    path = folder / baseline_file(number)
    try:
        held = _read(path, _PART, {"classes": classes, "b": int(sizes[number]), "c": int(sizes[number]) + 1})
        starts, far = held["starts"], held["far"]
        if starts[0] != 0 or starts[-1] != len(far) or (np.diff(starts) < 0).any():
            raise ValueError("expected links of the nodes, in their order")
        if far.size and not 0 <= far.min() <= far.max() < sizes.sum():
            raise ValueError("expected links to nodes of the parts, got one to a node that is not there")
        return PartBaseline(**held)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(f"{path}: not the baseline of this part ({problem}); {AGAIN}") from problem


def baseline_file(number: int) -> str:
    return f"baseline-{number}.safetensors"


def trust_files(parts: int) -> list[str]:
    """The files of a model that stores baselines, besides the others."""
    return [TRUST, *map(baseline_file, range(parts))]


def _write(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    held = {}
    for name, array in arrays.items():
        text = array.dtype.kind == "U"
        held[name + TEXT if text else name] = text_to_bytes(array) if text else np.ascontiguousarray(array)
    save_file(held, path)


def _read(path: Path, declared: dict[str, str], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    require_file(path, LARGEST)
    with safe_open(path, framework="np") as archive:
        sizes = declared_sizes(header(archive), declared, sizes)
        held = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    found = {name.removesuffix(TEXT): bytes_to_text(one) if name.endswith(TEXT) else one for name, one in held.items()}
    require_values(found, declared, sizes)
    return found
