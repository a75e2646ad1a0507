"""The planetoid files: pickles of NumPy and SciPy arrays, read by an unpickler that makes nothing else."""

import pickle
import re
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.csr import checked_csr
from gvdn.limits import read_bytes, short


class _Part:
    """Takes the place of a class of NumPy or SciPy in a pickle, and keeps what it is given without running its code."""

    def __init__(self, *given: Any) -> None:
        self.given, self.state = given, ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Matrix(_Part):
    """A sparse matrix; its state is a table of arrays."""


class _Array(_Part):
    """A dense array; its state is (version, shape, type, whether it is in Fortran's order, bytes)."""


class _Type(_Part):
    """The type of an array's numbers, given as a code such as f8; its state begins with (version, byte order)."""


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Bytes as old pickles write them, and no other codec."""
    return text.encode("latin1")


def _new(kind: Any, *_: Any) -> Any:
    """An object without its state, as the oldest pickles ask for one."""
    return _Matrix() if kind is _Matrix else _Array()


_ALLOWED: dict[tuple[str, str], Any] = {
    ("copy_reg", "_reconstructor"): _new,
    ("__builtin__", "object"): None,
    ("collections", "defaultdict"): lambda *_: {},
    ("_codecs", "encode"): _latin1,
    ("builtins", "list"): list,
    ("__builtin__", "list"): list,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    **dict.fromkeys(((f"scipy.sparse.{home}", "csr_matrix") for home in ("csr", "_csr")), _Matrix),
    **dict.fromkeys(((f"numpy.{home}.multiarray", "_reconstruct") for home in ("core", "_core")), _Array),
}


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler, not the one in C, which makes room for whatever number a pickle names."""

    dispatch: ClassVar = {
        code: load for code, load in pickle._Unpickler.dispatch.items() if code != pickle.BYTEARRAY8[0]
    }

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
        order = np.array(read_bytes(folder / f"ind.{stem.lower()}.test.index").split(), dtype=np.int64)
        return _build(order, *parts)
    except Exception as problem:  # a broken pickle may raise anything
        raise InvalidInput(f"could not read the planetoid files in {folder}: {problem}; get them again") from problem


def _build(order: np.ndarray, allx: Any, tx: Any, ally: Any, ty: Any, links: Any) -> Graph:
    known, first = _sparse(allx), int(order.min())
    test = order - first
    nodes = first + int(test.max()) + 1
    if first != known.shape[0] or len(np.unique(test)) != len(test) or nodes - first > 2 * len(test):
        got = f"{len(test)} from {first} to {nodes - 1}"
        raise InvalidInput(f"expected test nodes from {known.shape[0]} on, each once and with few gaps, got {got}")
    where = sp.csr_array(
        (np.ones(len(test), dtype=np.float32), (test, np.arange(len(test)))), (nodes - first, len(test))
    )
    classes = np.zeros((nodes, _dense(ally).shape[1]))
    classes[:first], classes[order] = _dense(ally), _dense(ty)
    pairs = [(int(node), int(other)) for node, others in dict(links).items() for other in others]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    features = sp.csr_array(sp.vstack([known, where @ _sparse(tx)]))
    return Graph.from_edges(edges, features, labels=classes.argmax(axis=1))


def _sparse(found: Any) -> sp.csr_array:
    if not isinstance(found, _Matrix) or not isinstance(found.state, dict):
        raise InvalidInput(f"expected a sparse matrix, got {type(found).__name__}")
    parts = found.state
    data, indices, indptr = (_dense(parts.get(name)) for name in ("data", "indices", "indptr"))
    return checked_csr("the features", data, indices, indptr, parts.get("_shape", parts.get("shape")))


def _dense(found: Any) -> np.ndarray:
    """The array of a pickle's parts, made of its bytes, which must be as many as its shape says."""
    if not isinstance(found, _Array) or len(found.state) != 5 or not isinstance(found.state[2], _Type):
        raise InvalidInput(f"expected an array of numbers, got {type(found).__name__}")
    _, shape, kind, fortran, content = found.state
    if not re.fullmatch("[biuf][1248]", str(kind.given[0])):
        raise InvalidInput(f"expected an array of numbers, got one of {short(kind.given[0])}")
    dtype = np.dtype(kind.given[0]).newbyteorder(">" if kind.state[1:2] == (">",) else "<")
    flat = np.frombuffer(content.encode("latin1") if isinstance(content, str) else content, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def _read(path: Path) -> Any:
    return _Unpickler(BytesIO(read_bytes(path)), encoding="latin1").load()
