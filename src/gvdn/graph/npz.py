"""A graph in one npz file, without pickle.

Keys: `adj_indptr`, `adj_indices` (symmetric CSR), then either `x_indptr`, `x_indices`, `x_data`, `x_shape` (sparse)
or `x` (dense), `y`; optional: `adj_data` (the weight of each entry; 1 when left out), `ids`, `class_names`,
`feature_names`, `name`, `columns` (the schema of the table that the features are from, as JSON), `published_ids`,
`published_splits` and `published_times` (see `Published`). Without features the graph has none.
"""

import json
import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.checks import require_whole
from gvdn.graph.csr import checked_csr
from gvdn.graph.graph import Features, Graph
from gvdn.graph.published import Published
from gvdn.graph.tables.columns import Columns
from gvdn.limits import require_file, require_size
from gvdn.schema import parse_json

REQUIRED = ("adj_indptr", "adj_indices", "y")


def write_npz(graph: Graph, path: str | Path) -> None:
    """Save the graph; the file is written whole or not at all."""
    arrays: dict[str, Any] = {
        "adj_indptr": graph.adjacency.indptr,
        "adj_indices": graph.adjacency.indices,
        "y": graph.labels,
        "ids": graph.ids,
        "class_names": np.array(graph.class_names, dtype=np.str_),
        "feature_names": np.array(graph.feature_names, dtype=np.str_),
        "name": np.array(graph.name),
    }
    if graph.is_weighted:
        arrays["adj_data"] = graph.adjacency.data
    if graph.columns is not None:
        arrays["columns"] = np.array(json.dumps(graph.columns.as_json()))
    if graph.published is not None:
        arrays |= {f"published_{name}": getattr(graph.published, name) for name in ("ids", "splits")}
        if graph.published.times is not None:
            arrays["published_times"] = graph.published.times
    if isinstance(graph.features, np.ndarray):
        arrays["x"] = graph.features
    else:
        sparse = graph.features
        arrays |= {"x_indptr": sparse.indptr, "x_indices": sparse.indices, "x_data": sparse.data}
        arrays["x_shape"] = np.array(sparse.shape)
    with whole_file(Path(path)) as draft:
        np.savez_compressed(draft, **arrays)


def read_npz(path: str | Path) -> Graph:
    """Load a graph that `write_npz` saved or that follows its layout."""
    path = Path(path)
    arrays = read_arrays(path)
    if not set(REQUIRED) <= set(arrays):
        wanted = f"{', '.join(REQUIRED)} and features (x, or x_indptr, x_indices, x_data and x_shape)"
        got = f"{', '.join(arrays) or 'none'}; see gvdn.graph.npz for the layout"
        raise InvalidInput(f"{path}: expected the keys {wanted}, got {got}")
    try:
        return _build(arrays, path.stem)
    except (InvalidInput, ValueError, IndexError, TypeError, KeyError) as problem:
        raise InvalidInput(f"{path}: {problem}; see gvdn.graph.npz for the layout") from problem


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Every array of an npz file; never a pickle, and not more bytes than `most_bytes` allows."""
    with _readable(path, "npz") as file, zipfile.ZipFile(file) as archive:
        file.seek(0)
        if file.read(2) != b"PK":  # zipfile passes over anything that comes before an archive
            raise InvalidInput(f"{path}: expected an npz file, got something that holds one; copy it again")
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise InvalidInput(f"{path}: an array is stored twice; save the file again")
        declared = 0
        for name in names:
            with archive.open(name) as member:
                declared += max(_declared_bytes(member), archive.getinfo(name).file_size)
        require_size(declared)
        found = {}
        for name in names:
            with archive.open(name) as member:
                found[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
        for name, array in found.items():
            _require_characters(path, name, array)
        return found


def read_array(path: Path) -> np.ndarray:
    """The array of an npy file, within the same limits."""
    with _readable(path, "npy") as file:
        require_size(_declared_bytes(file))
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def _require_characters(path: Path, name: str, array: np.ndarray) -> None:
    """Raise where text holds numbers that are no characters: Python fails on them in odd places."""
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    signs = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if signs.max() > sys.maxunicode:
        raise InvalidInput(f"{path}: expected text in {name}, got numbers that are no characters; copy the file again")


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[Any]:
    """The open file; whatever reading it raises becomes one sentence."""
    try:
        require_file(path)
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}") from problem
    except InvalidInput:
        raise
    except BROKEN as problem:
        reason = " ".join(str(problem).split())[:300]
        told = f"not a whole {kind} file of plain arrays ({reason}); copy it again (pickled content is never read)"
        raise InvalidInput(f"{path}: {told}") from problem


BROKEN = (OSError, EOFError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, SyntaxError) + (
    MemoryError,
    OverflowError,
    RuntimeError,
    TokenError,
    struct.error,
)
"""What reading a broken archive may raise; pickled content is a ValueError."""


def _declared_bytes(file: Any) -> int:
    """The memory of the array that this npy file declares; a number takes at least the 4 bytes it has in a graph."""
    start = BytesIO(file.read(1 << 14))  # a header is shorter, whatever length it declares
    version = np.lib.format.read_magic(start)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(start)
    if any(side < 0 for side in shape):
        raise ValueError(f"a shape of {shape}")
    return math.prod(shape) * max(dtype.itemsize, 4)


def _build(arrays: dict[str, np.ndarray], stem: str) -> Graph:
    for key in ("name", "class_names", "feature_names", "columns"):
        _require_text(key, arrays.get(key), ndim=0 if key in ("name", "columns") else 1)
    name, nodes = str(arrays.get("name", stem)), len(arrays["adj_indptr"]) - 1
    stored = (arrays.get("adj_data"), arrays["adj_indices"], arrays["adj_indptr"], (nodes, nodes))
    adjacency = checked_csr("the adjacency matrix", *stored)
    if "adj_data" not in arrays:  # an entry that is stored twice is one edge
        adjacency.sum_duplicates()
        adjacency.data[:] = 1
    given: dict[str, Any] = {"labels": arrays["y"], "ids": arrays.get("ids"), "name": name}
    given |= {key: tuple(arrays[key].tolist()) for key in ("class_names", "feature_names") if key in arrays}
    if "columns" in arrays:
        given["columns"] = Columns.from_json(parse_json(str(arrays["columns"])))
    if "published_ids" in arrays:
        ids, splits = (arrays[f"published_{name}"] for name in ("ids", "splits"))
        given["published"] = Published(ids, splits, arrays.get("published_times"))
    return Graph(adjacency, _features(arrays, nodes), **given)


def _require_text(key: str, words: np.ndarray | None, ndim: int) -> None:
    if words is not None and words.size and (words.dtype.kind != "U" or words.ndim != ndim):
        raise InvalidInput(f"expected {key} as text, got {words.dtype} of shape {words.shape}")
    if key == "name" and words is not None:
        require_whole("the name", [str(words)])


def _features(arrays: dict[str, np.ndarray], nodes: int) -> Features:
    if "x" in arrays:
        return arrays["x"]
    if "x_indptr" not in arrays:
        return np.zeros((nodes, 0), dtype=np.float32)
    parts = (arrays[f"x_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return checked_csr("the features", *parts)
