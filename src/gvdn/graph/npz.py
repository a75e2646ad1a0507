"""A graph in one npz file, without pickle.

Keys: `adj_indptr`, `adj_indices` (symmetric CSR), then either `x_indptr`, `x_indices`, `x_data`, `x_shape` (sparse)
or `x` (dense), `y`; optional: `ids`, `class_names`, `feature_names`, `name`. Without features the graph has none.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.graph import Features, Graph

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
    """Every array of an npz file; never a pickle."""
    try:
        with path.open("rb") as handle:
            archive = np.load(handle, allow_pickle=False)
            if isinstance(archive, np.lib.npyio.NpzFile):
                return {key: archive[key] for key in archive.files}
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}") from problem
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as problem:
        raise InvalidInput(f"{path}: not a whole npz file ({problem}); copy or download it again") from problem
    except ValueError as problem:
        raise InvalidInput(f"{path}: not an npz file of plain arrays; pickled content is never read") from problem
    raise InvalidInput(f"{path}: expected an npz archive, got a single array; save it with write_npz")


def _build(arrays: dict[str, np.ndarray], name: str) -> Graph:
    indptr, indices = arrays["adj_indptr"], arrays["adj_indices"]
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise InvalidInput(f"expected whole numbers in adj_indptr and adj_indices, got {indptr.dtype}, {indices.dtype}")
    nodes = len(indptr) - 1
    ones = np.ones(len(indices), dtype=np.float32)
    adjacency = sp.csr_array((ones, indices, indptr), shape=(nodes, nodes))
    adjacency.check_format(full_check=True)
    given: dict[str, Any] = {"labels": arrays["y"], "ids": arrays.get("ids"), "name": name}
    given |= {key: tuple(arrays[key].tolist()) for key in ("class_names", "feature_names") if key in arrays}
    return Graph(adjacency, _features(arrays, nodes), **given)


def _features(arrays: dict[str, np.ndarray], nodes: int) -> Features:
    if "x" in arrays:
        return arrays["x"]
    if "x_indptr" not in arrays:
        return np.zeros((nodes, 0), dtype=np.float32)
    shape = tuple(int(side) for side in arrays["x_shape"])
    columns = arrays["x_indices"].astype(np.int32)
    sparse = sp.csr_array((arrays["x_data"].astype(np.float32), columns, arrays["x_indptr"]), shape=shape)
    sparse.check_format(full_check=True)
    return sparse
