"""A graph in one npz file, without pickle.

Keys: `adj_indptr`, `adj_indices` (symmetric CSR), then either `x_indptr`, `x_indices`, `x_data`, `x_shape` (sparse)
or `x` (dense), `y`; optional: `adj_data` (the weight of each entry; 1 when left out), `ids`, `class_names`,
`feature_names`, `name`, `columns` (the schema of the table that the features are from, as JSON). Without features the
graph has none.
"""

import json
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.csr import checked_csr
from gvdn.graph.graph import Features, Graph
from gvdn.graph.tables.columns import Columns
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
        return _build(arrays, str(arrays.get("name", path.stem)))
    except (InvalidInput, ValueError, IndexError, TypeError, KeyError) as problem:
        raise InvalidInput(f"{path}: {problem}; see gvdn.graph.npz for the layout") from problem


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Every array of an npz file; never a pickle, and not more bytes than `most_bytes` allows."""
    try:
        with path.open("rb") as handle:
            if not zipfile.is_zipfile(handle):
                raise InvalidInput(f"{path}: not a whole npz file; copy it again, or save it with write_npz")
            handle.seek(0)
            with zipfile.ZipFile(handle) as archive:
                _require_room(path, archive)
            handle.seek(0)
            found = np.load(handle, allow_pickle=False)
            return {key: found[key] for key in found.files}
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}") from problem
    except InvalidInput:
        raise
    except BROKEN as problem:
        reason = " ".join(str(problem).split())[:200]
        told = f"not a whole npz file of plain arrays ({reason}); copy it again (pickled content is never read)"
        raise InvalidInput(f"{path}: {told}") from problem


BROKEN = (OSError, EOFError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, SyntaxError) + (
    MemoryError,
    OverflowError,
    RuntimeError,
)
"""What reading a broken archive may raise; pickled content is a ValueError."""


def most_bytes() -> int:
    """How much the arrays of one file may hold: 1 GiB, or what GVDN_MAX_BYTES says."""
    said = os.environ.get("GVDN_MAX_BYTES", "")
    return int(said) if said.isdigit() else 1 << 30


def _require_room(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise where the archive holds more than is allowed, names an array twice, or declares more than it holds."""
    names = [member.filename for member in archive.infolist()]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path}: an array is stored twice; save the file again")
    declared = 0
    for member in archive.infolist():
        with archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
        declared += max(math.prod(shape) * dtype.itemsize, member.file_size)
    if declared > most_bytes():
        raise InvalidInput(
            f"{path}: expected at most {most_bytes():,} bytes of arrays, got {declared:,}; if you trust the file, set "
            "GVDN_MAX_BYTES to a larger number"
        )


def _build(arrays: dict[str, np.ndarray], name: str) -> Graph:
    nodes = len(arrays["adj_indptr"]) - 1
    parts = (arrays.get("adj_data"), arrays["adj_indices"], arrays["adj_indptr"], (nodes, nodes))
    adjacency = checked_csr("the adjacency matrix", *parts)
    if "adj_data" not in arrays:  # an entry that is stored twice is one edge
        adjacency.sum_duplicates()
        adjacency.data[:] = 1
    given: dict[str, Any] = {"labels": arrays["y"], "ids": arrays.get("ids"), "name": name}
    given |= {key: tuple(arrays[key].tolist()) for key in ("class_names", "feature_names") if key in arrays}
    if "columns" in arrays:
        given["columns"] = Columns.from_json(parse_json(str(arrays["columns"])))
    return Graph(adjacency, _features(arrays, nodes), **given)


def _features(arrays: dict[str, np.ndarray], nodes: int) -> Features:
    if "x" in arrays:
        return arrays["x"]
    if "x_indptr" not in arrays:
        return np.zeros((nodes, 0), dtype=np.float32)
    parts = (arrays[f"x_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return checked_csr("the features", *parts)
