"""Checks of a graph's parts. Each returns a frozen copy, or raises an error that names the row.

What a check returned and a graph still has needs no second check: it is returned as it is, so that graphs which differ
in one part share the others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.limits import short

MANY_CLASSES = 10_000

Array = TypeVar("Array", bound=np.ndarray)
Check = TypeVar("Check", bound=Callable[..., Any])


def frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


_RETURNED: WeakValueDictionary[tuple[str, int], Any] = WeakValueDictionary()
"""What each check returned and somebody still has, by the name of the check."""


def _shared(check: Check) -> Check:
    """The check, which passes over what it has returned before."""

    @wraps(check)
    def checked(part: Any, *nodes: int) -> Any:
        known = _RETURNED.get((check.__name__, id(part)))
        if known is not None and known is part and nodes in ((), known.shape[:1]):
            return known
        found = check(part, *nodes)
        _RETURNED[check.__name__, id(found)] = found
        return found

    return checked  # type: ignore[return-value]


@_shared
def adjacency(matrix: Any) -> sp.csr_array:
    if not sp.issparse(matrix):
        raise InvalidInput(f"expected a sparse adjacency matrix, got {type(matrix).__name__}; wrap it in csr_array")
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InvalidInput(f"expected a square adjacency matrix with at least one node, got shape {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise InvalidInput(f"expected real numbers as weights of the edges, got {matrix.dtype}; convert them")
    with np.errstate(over="ignore", under="ignore"):
        weights = sp.csr_array(matrix, dtype=np.float32, copy=True)
    weights.sum_duplicates()
    bad = np.flatnonzero(~(np.isfinite(weights.data) & (weights.data > 0)))
    if bad.size:
        row = int(np.searchsorted(weights.indptr, bad[0], side="right")) - 1
        got = f"{weights.data[bad[0]]:g} between nodes {row} and {weights.indices[bad[0]]}"
        raise InvalidInput(f"expected positive, finite weights as entries, got {got}; eliminate_zeros() drops zeros")
    loops = np.flatnonzero(weights.diagonal())
    if loops.size:
        raise InvalidInput(f"expected no self-loops, got one on node {loops[0]}; Graph.from_edges drops them")
    if not _is_symmetric(weights):
        difference = (weights - weights.T).tocoo()
        unequal = np.flatnonzero(difference.data)
        row, column = int(difference.row[unequal[0]]), int(difference.col[unequal[0]])
        if weights[row, column] and weights[column, row]:
            pair = f"{weights[row, column]:g} from {row} to {column} and {weights[column, row]:g} back"
            raise InvalidInput(f"expected one weight for each edge, got {pair}; Graph.from_edges adds them")
        pair = f"{row} and {column} in one direction only"
        raise InvalidInput(f"expected an undirected graph, got an edge between {pair}; Graph.from_edges makes both")
    return _frozen_csr(weights)


def _is_symmetric(weights: sp.csr_array) -> bool:
    """Whether a matrix with sorted columns is its own transpose, entry by entry."""
    turned = sp.csr_array(weights.T)
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(weights, part), getattr(turned, part)) for part in parts)


def matrix(rows: Any) -> Any:
    """Features as a sparse matrix or an array with two dimensions, of real numbers."""
    if not sp.issparse(rows):
        try:
            rows = numpy_array(rows)
        except ValueError as problem:
            lengths = [np.size(row) for row in rows]
            odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), 0)
            got = f"{lengths[odd]} values in row {odd} after rows of {lengths[0]}"
            raise InvalidInput(f"expected feature rows of one length, got {got}; fill the missing ones") from problem
    if rows.ndim != 2:
        raise InvalidInput(f"expected features as a matrix with a row for each node, got shape {rows.shape}")
    if rows.dtype.kind not in "biuf":
        raise InvalidInput(f"expected features as real numbers, got {rows.dtype}; convert them (complex: two columns)")
    return rows


@_shared
def features(rows: Any, nodes: int) -> np.ndarray | sp.csr_array:
    checked = matrix(rows)
    if checked.shape[0] != nodes:
        raise InvalidInput(f"expected a feature row for each of the {nodes} nodes, got shape {checked.shape}")
    with np.errstate(over="ignore", invalid="ignore"):  # a value beyond float32 becomes infinite, and is refused below
        single = sp.csr_array if sp.issparse(checked) else partial(np.array, order="C")
        checked = single(checked, dtype=np.float32, copy=True)
        doubtful = not np.isfinite(checked.sum())  # a sum of finite numbers may be infinite, but not the reverse
    if sp.issparse(checked):
        checked.sum_duplicates()
        if (checked.data == 0).any():
            checked.eliminate_zeros()
        bad = np.searchsorted(checked.indptr, np.flatnonzero(~np.isfinite(checked.data)), side="right") - 1
    else:
        bad = np.flatnonzero(~np.isfinite(checked).all(axis=1)) if doubtful else np.zeros(0, dtype=np.int64)
    if bad.size:
        raise InvalidInput(f"expected finite features, got NaN or infinity on node {bad[0]}")
    return frozen(checked) if isinstance(checked, np.ndarray) else _frozen_csr(checked)


def derived_features(rows: Any) -> Any:
    """Rows that were made of checked ones by a step that keeps numbers finite: frozen, without a copy or a check.

    Sparse ones have the pattern of the checked ones; zeros that the step led to are removed.
    """
    if sp.issparse(rows):
        if (rows.data == 0).any():
            rows = sp.csr_array(rows, copy=True)
            rows.eliminate_zeros()
        _frozen_csr(rows)
    else:
        frozen(rows)
    _RETURNED["features", id(rows)] = rows
    return rows


@_shared
def labels(values: Any, nodes: int) -> np.ndarray:
    if values is None:
        return frozen(np.full(nodes, -1, dtype=np.int64))
    given = numpy_array(values)
    if given.shape != (nodes,) or given.dtype.kind not in "iu":
        got = f"{given.dtype} of shape {given.shape}"
        raise InvalidInput(f"expected {nodes} whole numbers as labels, got {got}; give integers (long in torch)")
    whole = whole_numbers("labels", given)
    bad = np.flatnonzero(whole < -1)
    if bad.size:
        raise InvalidInput(f"expected labels from -1 (unlabelled) up, got {whole[bad[0]]} on node {bad[0]}")
    return frozen(whole)


@_shared
def ids(values: Any, nodes: int) -> np.ndarray:
    given = np.arange(nodes, dtype=np.int64) if values is None else numpy_array(values)
    if given.shape != (nodes,) or given.dtype.kind not in "iuUO":
        raise InvalidInput(f"expected {nodes} ids, whole numbers or text, got {given.dtype} of shape {given.shape}")
    for node, one in enumerate(given if given.dtype.kind == "O" else ()):
        if not is_id(one):
            raise InvalidInput(f"expected ids as whole numbers or text, got {one!r} on node {node}")
    given = given.astype(np.str_) if given.dtype.kind in "UO" else whole_numbers("ids", given)
    if given.dtype.kind == "U":
        require_whole("ids", given.tolist())
    order = np.argsort(given, kind="stable")
    twice = np.flatnonzero(given[order[1:]] == given[order[:-1]])
    if twice.size:
        first, second = sorted((int(order[twice[0]]), int(order[twice[0] + 1])))
        raise InvalidInput(f"expected unique ids, got {str(given[first])!r} on nodes {first} and {second}")
    return frozen(given)


def is_id(value: object) -> bool:
    """Whether a value can be the id of a node: a whole number or text."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def positions(what: str, values: Any) -> np.ndarray:
    """Positions of nodes, in the order given; masks, fractions and negative numbers are refused."""
    given = numpy_array(values)
    if given.dtype.kind == "b":
        do = "use Split.from_masks, or give np.flatnonzero(mask)"
        raise InvalidInput(f"expected {what} as positions of nodes, got a boolean mask; {do}")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        got = f"{given.dtype} of shape {given.shape}"
        raise InvalidInput(f"expected {what} as a list of positions (integers), got {got}; give integers from 0 up")
    whole = whole_numbers(what, given)
    if (whole < 0).any():
        raise InvalidInput(f"expected {what} as positions from 0 up, got {whole.min()}; count from the first node")
    return whole


def whole_numbers(what: str, given: np.ndarray) -> np.ndarray:
    """A copy as int64; unsigned numbers that do not fit are refused, since they would become negative."""
    if given.dtype.kind == "u" and given.size and given.max() > np.iinfo(np.int64).max:
        raise InvalidInput(f"expected {what} below 2**63, got {given.max()}; number them anew, or give ids as text")
    return given.astype(np.int64)


def counted(number: int, one: str, more: str) -> str:
    """A number and its noun: 1 link is, 2 links are."""
    return f"{number:,} {one if number == 1 else more}"


def numpy_array(values: Any) -> np.ndarray:
    """A numpy array of what is given: a list, an array, or a torch tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def class_names(names: Sequence[str], node_labels: np.ndarray) -> tuple[str, ...]:
    classes = int(node_labels.max(initial=-1)) + 1
    if not names:
        if classes > max(len(node_labels), MANY_CLASSES):
            raise InvalidInput(f"expected class numbers below the number of nodes, got {classes - 1}; count from 0")
        return tuple(str(number) for number in range(classes))
    if len(names) < classes:
        raise InvalidInput(f"expected a name for each of the {classes} classes, got {len(names)} names")
    return _plain_text("class names", names)


def feature_names(names: Sequence[str], columns: int) -> tuple[str, ...]:
    if names and len(names) != columns:
        raise InvalidInput(f"expected a name for each of the {columns} features or none at all, got {len(names)} names")
    return _plain_text("feature names", names)


def _plain_text(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names as text, each once, and with whole characters, which files and terminals can hold."""
    words = tuple(str(name) for name in names)
    twice = next((name for name, count in Counter(words).items() if count > 1), None)
    if twice is not None:
        raise InvalidInput(f"expected {what} to differ, got {short(twice)} twice; rename one")
    require_whole(what, words)
    return words


def require_whole(what: str, words: Sequence[str]) -> None:
    """Raise where text has half of a character (a lone surrogate), which UTF-8 cannot hold."""
    try:
        "".join(words).encode("utf-8")
    except UnicodeEncodeError as problem:
        halved = next(word for word in words if any("\ud800" <= sign <= "\udfff" for sign in word))
        raise InvalidInput(f"expected {what} of whole characters, got {short(halved)}; write it in UTF-8") from problem


def _frozen_csr(matrix: sp.csr_array) -> sp.csr_array:
    matrix.sort_indices()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        frozen(part)
    return matrix
