"""The planetoid files: pickles of NumPy and SciPy arrays, read by an unpickler that makes nothing else."""

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.csr import checked_csr


class _Matrix:
    """Takes the state of a pickled SciPy matrix without running any code of SciPy."""

    def __setstate__(self, state: Any) -> None:
        self.parts = state if isinstance(state, dict) else {}


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Bytes as old pickles write them, and no other codec."""
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "defaultdict"): defaultdict,
    ("_codecs", "encode"): _latin1,
    ("builtins", "list"): list,
    ("__builtin__", "list"): list,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    **dict.fromkeys(((f"scipy.sparse.{home}", "csr_matrix") for home in ("csr", "_csr")), _Matrix),
    **dict.fromkeys(
        ((f"numpy.{home}.multiarray", "_reconstruct") for home in ("core", "_core")),
        np.ndarray.__reduce__(np.empty(0))[0],
    ),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InvalidInput(f"expected arrays and nothing else, got {module}.{name}")
        return _ALLOWED[module, name]


def read_planetoid(folder: Path, stem: str) -> Graph:
    """Yang et al., Revisiting semi-supervised learning with graph embeddings (2016).

    `allx` and `ally` hold the nodes before the test nodes, `tx` and `ty` the test nodes in the order of `test.index`,
    `graph` the neighbours of each node. A test node that the index leaves out has no features and class 0.
    """
    try:
        parts = [_read(folder / f"ind.{stem.lower()}.{part}") for part in ("allx", "tx", "ally", "ty", "graph")]
        order = np.array((folder / f"ind.{stem.lower()}.test.index").read_text().split(), dtype=np.int64)
        return _build(order, *parts)
    except Exception as problem:  # a broken pickle may raise anything
        raise InvalidInput(f"could not read the planetoid files in {folder}: {problem}; get them again") from problem


def _build(order: np.ndarray, allx: Any, tx: Any, ally: Any, ty: Any, links: Any) -> Graph:
    known, first = _sparse(allx), int(order.min())
    test = order - first
    nodes = first + int(test.max()) + 1
    if first != known.shape[0] or len(np.unique(test)) != len(test):
        raise InvalidInput(f"expected test nodes from {known.shape[0]} on, each once, got them from {first} on")
    where = sp.csr_array(
        (np.ones(len(test), dtype=np.float32), (test, np.arange(len(test)))), (nodes - first, len(test))
    )
    classes = np.zeros((nodes, np.shape(ally)[1]))
    classes[:first], classes[order] = ally, ty
    pairs = [(int(node), int(other)) for node, others in dict(links).items() for other in others]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    features = sp.csr_array(sp.vstack([known, where @ _sparse(tx)]))
    return Graph.from_edges(edges, features, labels=classes.argmax(axis=1))


def _sparse(found: Any) -> sp.csr_array:
    if not isinstance(found, _Matrix):
        raise InvalidInput(f"expected a sparse matrix, got {type(found).__name__}")
    parts = found.parts
    shape = np.asarray(parts.get("_shape", parts.get("shape")))
    return checked_csr("the features", parts.get("data"), parts.get("indices"), parts.get("indptr"), shape)


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        return _Unpickler(file, encoding="latin1").load()
