"""The arrays of sparse matrices: those of a file, checked before native code, which trusts them, sees them; and those
of matrices that were checked before."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput


def checked_csr(what: str, values: Any, columns: Any, starts: Any, shape: Any) -> sp.csr_array:
    """The CSR matrix of these parts; SciPy's own check passes over row starts where there is no entry.

    Args:
        what: the matrix, for the sentence.
        values: one per entry; None for ones.
        columns, starts: whole numbers; starts begin with 0, never fall and end with the number of entries.
    """
    sides = _whole(shape, f"shape of {what}", 0, 1 << 31)
    if len(sides) != 2:
        raise InvalidInput(f"expected two numbers as shape of {what}, got {len(sides)}")
    rows, width = map(int, sides)
    columns = _whole(columns, f"columns of {what}", 0, max(width - 1, 0))
    starts = _whole(starts, f"row starts of {what}", 0, len(columns))
    if len(starts) != rows + 1 or starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise InvalidInput(
            f"expected {rows + 1} row starts of {what} that rise from 0 to {len(columns)}, its number of entries, got "
            f"{len(starts)} of them"
        )
    entries = np.ones(len(columns), dtype=np.float32) if values is None else np.asarray(values)
    if entries.shape != columns.shape or entries.dtype.kind not in "biuf":
        raise InvalidInput(f"expected {len(columns)} numbers in {what}, got {entries.dtype} of shape {entries.shape}")
    with np.errstate(over="ignore", invalid="ignore"):  # what exceeds float32 becomes infinite, and is refused
        entries = entries.astype(np.float32)
    return sp.csr_array((entries, columns, starts), shape=(rows, width))


def edges_of(columns: Any, starts: Any, what: str) -> np.ndarray:
    """The pairs of positions that a square pattern joins, in the order in which they are stored."""
    nodes = len(np.atleast_1d(starts)) - 1
    pattern = checked_csr(what, None, columns, starts, (nodes, nodes))
    return np.stack([np.repeat(np.arange(nodes), np.diff(pattern.indptr)), pattern.indices], axis=1).astype(np.int64)


def csr_parts(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The row starts, columns and values of the non-zero entries of rows, whether they are dense or sparse."""
    if sp.issparse(rows):
        return rows.indptr, rows.indices, rows.data
    there = rows != 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    if starts[-1] == rows.size:
        return starts, np.tile(np.arange(rows.shape[1]), len(rows)), rows.ravel()
    return starts, np.nonzero(there)[1], rows[there]


def upper_entries(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Which entries of a matrix are above the diagonal, and the row of each of those."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    above = rows < matrix.indices
    return above, rows[above]


def _whole(values: Any, what: str, low: int, high: int) -> np.ndarray:
    """The values as int64, once they are whole numbers of one dimension within the range."""
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InvalidInput(f"expected whole numbers as {what}, got {given.dtype} of shape {given.shape}")
    if given.size and not (low <= int(given.min()) and int(given.max()) <= high):
        strange = given.min() if int(given.min()) < low else given.max()
        raise InvalidInput(f"expected {what} from {low} to {high}, got {strange}")
    return given.astype(np.int64)
