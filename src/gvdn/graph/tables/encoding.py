"""A node table becomes features by its columns: numbers, one-hot categories, ages of dates."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph.checks import counted
from gvdn.graph.graph import Features
from gvdn.graph.tables import values
from gvdn.graph.tables.columns import Column, Columns
from gvdn.graph.tables.learning import listed, read_as, require_fitting

SPARSE_BELOW = 0.25
"""Share of non-zero features under which the matrix is stored sparse."""
SAID = 5
"""Number of columns whose missing values are each said in a sentence of their own."""


def encode(columns: Columns, table: pa.Table, where: str, *, learned: bool = False) -> tuple[Features, list[str]]:
    """The features of a table, by the names of its columns, and what a user should know of it.

    `learned` says that the columns were learned from this very table, which has nothing new then.
    """
    encoder = _Encoder(table, where, learned)
    blocks = [block for column in columns.columns if column.is_used for block in encoder.column(column)]
    return as_matrix(blocks, table.num_rows), list(encoder.notes())


def as_matrix(blocks: list[np.ndarray], rows: int) -> Features:
    """Columns side by side, sparse where most of them is zero."""
    if not blocks:
        return np.zeros((rows, 0), dtype=np.float32)
    filled = sum(np.count_nonzero(block) for block in blocks)
    if filled >= SPARSE_BELOW * rows * len(blocks):
        return np.stack(blocks, axis=1)
    found = [np.flatnonzero(block) for block in blocks]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in found])])
    entries = np.concatenate([block[row] for block, row in zip(blocks, found, strict=True)])
    return sp.csr_array(sp.csc_array((entries, np.concatenate(found), starts), shape=(rows, len(blocks))))


class _Encoder:
    """One table: its columns become blocks of features, and what is to be said of them is collected."""

    def __init__(self, table: pa.Table, where: str, learned: bool) -> None:
        self.table, self.where, self.learned = table, where, learned
        self.missing: list[tuple[Column, np.ndarray]] = []
        self.commas: list[str] = []
        self.strange: list[str] = []

    def column(self, column: Column) -> list[np.ndarray]:
        """The features of a column, in the order of their names."""
        array = values.one_array(self.table[column.name])
        own, missing = self._category(column, array) if column.kind == "category" else self._numbers(column, array)
        if missing.any():
            self.missing.append((column, missing))
        blocks = [*own, missing] if column.flagged else own
        return [self._single(column, np.asarray(block)) for block in blocks]

    def _category(self, column: Column, array: pa.Array) -> tuple[list[np.ndarray], np.ndarray]:
        words = values.words(array)
        if words is None:
            raise InvalidInput(f"{self.where}: expected words in the column {column.name!r}, got {array.type}")
        missing = np.asarray(pc.is_null(words).to_numpy(zero_copy_only=False), dtype=bool)
        found = pc.index_in(words, value_set=pa.array(column.categories, pa.string()))
        number = pc.fill_null(found, len(column.categories)).to_numpy(zero_copy_only=False)
        number = np.where(missing, -1, number)
        self._tell_unknown(column, words, number == len(column.categories))
        return [number == value for value in range(len(column.categories) + 1)], missing

    def _tell_unknown(self, column: Column, words: pa.Array, other: np.ndarray) -> None:
        known = pa.array(column.rare, pa.string())
        other = other & ~np.asarray(pc.is_in(words, value_set=known).to_numpy(zero_copy_only=False), dtype=bool)
        if not other.any() or self.learned:
            return
        new = pc.unique(words.filter(pa.array(other))).to_pylist()
        shown = ", ".join(repr(str(value)[:40]) for value in new[:3]) + (", …" if len(new) > 3 else "")
        found = f"{counted(len(new), 'value', 'values')} not there when it was learned ({shown})"
        nodes = counted(int(other.sum()), "node", "nodes")
        self.strange.append(f"the column {column.name!r} has {found}, on {nodes}; each counts as other")

    def _numbers(self, column: Column, array: pa.Array) -> tuple[list[np.ndarray], np.ndarray]:
        found = read_as(column.kind, array)
        if found is None:
            raise InvalidInput(f"{self.where}: expected {column.kind}s in the column {column.name!r}, got {array.type}")
        require_fitting(column.name, column.kind, array, found, self.where)
        if found.decimal_comma:
            self.commas.append(column.name)
        missing, numbers = found.missing, found.numbers
        if column.kind == "date":
            weekday = np.where(missing, -1, (np.floor(np.where(missing, 0, numbers)) + 3) % 7)
            age = np.where(missing, 0, (column.latest - numbers - column.mean) / column.scale)
            return [age, *(weekday == day for day in range(7))], missing
        filled = np.where(missing, column.mean, numbers)
        shift = column.mean if column.kind == "number" else 0.0
        return [(filled - shift) / column.scale], missing

    def _single(self, column: Column, block: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            single = block.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(single))
        if bad.size:
            what = f"the feature {column.name!r} is {block[bad[0]]:g} after scaling"
            raise InvalidInput(
                f"{self.where}, row {bad[0] + 1}: {what}; expected a number like those it was learned from"
            )
        return single

    def notes(self) -> Iterator[str]:
        if self.commas:
            yield f"commas in {listed(self.commas)} are decimal commas"
        for column, rows in self.missing[:SAID]:
            first = int(np.flatnonzero(rows)[0]) + 1
            how = "a value of its own" if column.flagged else "none of the values"
            filled = f"counts as {how}" if column.kind == "category" else "is filled with the mean"
            flagged = " and told by a feature of its own" if column.flagged and column.kind != "category" else ""
            said = counted(int(rows.sum()), "value is", "values are") + f" missing in the column {column.name!r}"
            yield f"{said} (row {first}{' first' if rows.sum() > 1 else ''}); each {filled}{flagged}"
        if len(self.missing) > SAID:
            rest = self.missing[SAID:]
            total = sum(int(rows.sum()) for _, rows in rest)
            yield f"{total:,} more values are missing in {listed([column.name for column, _ in rest])}"
        yield from self.strange
