"""The door: what a graph's parts must be. Each check returns a frozen copy or one sentence that names the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput

MANY_CLASSES = 10_000

Array = TypeVar("Array", bound=np.ndarray)


def frozen(array: Array) -> Array:
    """The same array, no longer writeable."""
    array.setflags(write=False)
    return array


def adjacency(matrix: Any) -> sp.csr_array:
    if not sp.issparse(matrix):
        raise InvalidInput(f"expected a sparse adjacency matrix, got {type(matrix).__name__}; wrap it in csr_array")
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidInput(f"expected a square adjacency matrix with at least one node, got shape {matrix.shape}")
    pattern = sp.csr_array(matrix, copy=True)
    if (pattern.data == 0).any():
        pattern.eliminate_zeros()
    pattern.sum_duplicates()
    pattern.data = np.ones(pattern.nnz, dtype=np.float32)
    loops = np.flatnonzero(pattern.diagonal())
    if loops.size:
        raise InvalidInput(f"expected no self-loops, got one on node {loops[0]}; Graph.from_edges drops them")
    lonely = (pattern - pattern.T).tocoo()
    one_way = np.flatnonzero(lonely.data)
    if one_way.size:
        row, column = lonely.row[one_way[0]], lonely.col[one_way[0]]
        raise InvalidInput(
            f"expected an undirected graph, got an edge between {row} and {column} in one direction only; "
            "Graph.from_edges makes both"
        )
    return _frozen_csr(pattern)


def features(matrix: Any, nodes: int) -> np.ndarray | sp.csr_array:
    if getattr(matrix, "ndim", 0) != 2 or matrix.shape[0] != nodes:
        shape = getattr(matrix, "shape", type(matrix).__name__)
        raise InvalidInput(f"expected a feature row for each of the {nodes} nodes, got shape {shape}")
    if not sp.issparse(matrix):
        dense = np.array(matrix, dtype=np.float32, order="C")
        bad = np.flatnonzero(~np.isfinite(dense).all(axis=1))
        _require_finite(bad)
        return frozen(dense)
    sparse = sp.csr_array(matrix, dtype=np.float32, copy=True)
    sparse.sum_duplicates()
    if (sparse.data == 0).any():
        sparse.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(sparse.data))
    _require_finite(np.searchsorted(sparse.indptr, bad, side="right") - 1)
    return _frozen_csr(sparse)


def labels(values: Any, nodes: int) -> np.ndarray:
    if values is None:
        return frozen(np.full(nodes, -1, dtype=np.int64))
    given = np.array(values)
    if given.shape != (nodes,) or given.dtype.kind not in "iu":
        raise InvalidInput(f"expected {nodes} whole numbers as labels, got {given.dtype} of shape {given.shape}")
    bad = np.flatnonzero(given.astype(np.int64) < -1)
    if bad.size:
        raise InvalidInput(f"expected labels from -1 (unlabelled) up, got {given[bad[0]]} on node {bad[0]}")
    return frozen(given.astype(np.int64))


def ids(values: Any, nodes: int) -> np.ndarray:
    given = np.arange(nodes, dtype=np.int64) if values is None else np.array(values)
    if given.shape != (nodes,) or given.dtype.kind not in "iuUO":
        raise InvalidInput(f"expected {nodes} ids, whole numbers or text, got {given.dtype} of shape {given.shape}")
    given = given.astype(np.int64) if given.dtype.kind in "iu" else given.astype(np.str_)
    order = np.argsort(given, kind="stable")
    twice = np.flatnonzero(given[order[1:]] == given[order[:-1]])
    if twice.size:
        first, second = sorted((int(order[twice[0]]), int(order[twice[0] + 1])))
        raise InvalidInput(f"expected unique ids, got {str(given[first])!r} on nodes {first} and {second}")
    return frozen(given)


def class_names(names: Sequence[str], node_labels: np.ndarray) -> tuple[str, ...]:
    classes = int(node_labels.max(initial=-1)) + 1
    if not names:
        if classes > max(len(node_labels), MANY_CLASSES):
            raise InvalidInput(
                f"expected class numbers below the number of nodes, got {classes - 1}; number them from 0"
            )
        return tuple(str(number) for number in range(classes))
    if len(names) < classes:
        raise InvalidInput(f"expected a name for each of the {classes} classes, got {len(names)} names")
    if len(set(names)) < len(names):
        raise InvalidInput(f"expected class names to differ, got {list(names)}")
    return tuple(str(name) for name in names)


def feature_names(names: Sequence[str], columns: int) -> tuple[str, ...]:
    if names and len(names) != columns:
        raise InvalidInput(f"expected a name for each of the {columns} features or none at all, got {len(names)} names")
    return tuple(str(name) for name in names)


def _require_finite(bad_rows: np.ndarray) -> None:
    if bad_rows.size:
        raise InvalidInput(f"expected finite features, got NaN or infinity on node {bad_rows[0]}")


def _frozen_csr(matrix: sp.csr_array) -> sp.csr_array:
    matrix.sort_indices()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        frozen(part)
    return matrix
