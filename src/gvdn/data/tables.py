"""A user's own graph: a table of nodes and a table of edges, CSV or Parquet."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gvdn.data.table_files import ENDINGS, read_table
from gvdn.errors import InvalidInput
from gvdn.graph import Features, Graph
from gvdn.graph.graph import UNLABELLED

NAMES = ID, LABEL, SOURCE, TARGET = "id", "label", "source", "target"
SPARSE_BELOW = 0.25  # share of non-zero features under which the matrix is stored sparse


def read_tables(nodes: Path, edges: Path) -> Graph:
    """The graph of two tables: nodes (`id`, optional `label`, all else is features), edges (`source`, `target`).

    Ids are whole numbers or text; an empty label is an unlabelled node; direction, loops and duplicate edges are
    dropped. Errors name the file and the row, counted from 1.
    """
    node_table, edge_table = _read(nodes, ID), _read(edges, SOURCE, TARGET)
    try:
        keys = _ids(nodes, node_table[ID])
        ids, name = keys.to_numpy(zero_copy_only=False), nodes.name.split(".")[0]
        if name == "nodes":
            name = nodes.resolve().parent.name
        labels, class_names = _labels(nodes, node_table)
        features, feature_names = _features(nodes, node_table)
        pairs = np.stack([_positions(edges, edge_table, end, keys) for end in (SOURCE, TARGET)], axis=1)
        return Graph.from_edges(
            pairs, features, labels=labels, ids=ids, class_names=class_names, feature_names=feature_names, name=name
        )
    except (pa.ArrowException, OverflowError) as problem:  # a column of an unexpected type
        reason = str(problem).splitlines()[0]
        raise InvalidInput(f"{nodes} and {edges}: a column is of a kind that cannot be used ({reason})") from problem


def find_tables(folder: Path) -> tuple[Path, Path]:
    """The two tables of a folder: nodes.csv or nodes.parquet, and edges likewise."""
    found = []
    for stem in ("nodes", "edges"):
        there = [folder / f"{stem}{ending}" for ending in ENDINGS if (folder / f"{stem}{ending}").exists()]
        if len(there) != 1:
            got = " and ".join(path.name for path in there) or "none"
            wanted = ", ".join(stem + ending for ending in ENDINGS)
            raise InvalidInput(f"{folder}: expected one of {wanted} (or a graph.npz), got {got}")
        found.append(there[0])
    return found[0], found[1]


def read_ids(path: Path, *, like: Graph) -> np.ndarray:
    """The column `id` of a table, as numbers or text, whichever the graph's ids are."""
    ids = _as_type(_plain(_read(path, ID)[ID]), pa.array(like.ids[:1]).type).drop_null().to_numpy(zero_copy_only=False)
    return ids.astype(np.str_) if like.ids.dtype.kind == "U" else ids


def _read(path: Path, *wanted: str) -> pa.Table:
    table = read_table(path, text=NAMES)
    if not set(wanted) <= set(table.column_names):
        columns, got = f"column{'s' * (len(wanted) > 1)} {' and '.join(wanted)}", ", ".join(table.column_names[:8])
        raise InvalidInput(f"{path}: expected the {columns}, got {got or 'none'}; rename them")
    if not table.num_rows and ID in wanted:
        raise InvalidInput(f"{path}: a header but no rows; expected at least one node")
    return table


def _ids(path: Path, column: pa.ChunkedArray) -> pa.Array:
    """The ids, whole numbers if all of them are written as such, else text; unique, none missing."""
    keys = _plain(column)
    _require_values(path, keys, "the id is missing; every node needs one")
    keys = _numbers_if_all(keys)
    counted = pc.value_counts(keys)
    repeated = counted.filter(pc.greater(counted.field("counts"), 1))
    if len(repeated):
        twice = repeated[0]["values"]
        rows = np.flatnonzero(pc.equal(keys, twice).to_numpy(zero_copy_only=False)) + 1
        raise InvalidInput(f"{path}, row {rows[1]}: the id {twice.as_py()!r} is in row {rows[0]} too; ids are unique")
    return keys


def _numbers_if_all(keys: pa.Array) -> pa.Array:
    if pa.types.is_integer(keys.type):
        return keys.cast(pa.int64())
    try:
        numbers = keys.cast(pa.int64())
    except pa.ArrowInvalid:
        return keys
    return numbers if pc.all(pc.equal(numbers.cast(pa.string()), keys)).as_py() else keys


def _positions(path: Path, table: pa.Table, end: str, keys: pa.Array) -> np.ndarray:
    """The position of each end of an edge in the node table."""
    ends = _plain(table[end])
    _require_values(path, ends, f"the {end} is missing; every edge has two ends")
    found = pc.index_in(_as_type(ends, keys.type), value_set=keys)
    unknown = _first(pc.is_null(found))
    if unknown is not None:
        what = f"the {end} {ends[unknown].as_py()!r} is no id of the node table"
        raise InvalidInput(f"{path}, row {unknown + 1}: {what}; add the node or drop the edge")
    return found.to_numpy(zero_copy_only=False).astype(np.int64)


def _as_type(ends: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The ends in the type of the ids; what cannot be cast becomes null, and so a missing node."""
    if pa.types.is_string(ends.type) and not pa.types.is_string(wanted):
        whole = pc.match_substring_regex(ends, r"^-?\d{1,18}$")
        return pc.if_else(whole, ends, pa.scalar(None, pa.string())).cast(pa.int64())
    return ends.cast(wanted)


def _labels(path: Path, table: pa.Table) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Class numbers in the order of the class names (as numbers, if all are numbers), -1 where it is missing."""
    if LABEL not in table.column_names:
        return None, ()
    column = _plain(table[LABEL])
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    words = column.cast(pa.string())
    ordered = sorted(pc.unique(words.drop_null()).to_pylist(), key=_natural)
    if len(ordered) == 1:
        raise InvalidInput(f"{path}: expected at least two classes in the label column, got only {ordered[0]!r}")
    numbers = pc.fill_null(pc.index_in(words, value_set=pa.array(ordered, pa.string())), UNLABELLED)
    return numbers.to_numpy(zero_copy_only=False).astype(np.int64), tuple(ordered)


def _natural(word: str) -> tuple[int, float, str]:
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)


def _features(path: Path, table: pa.Table) -> tuple[Features, tuple[str, ...]]:
    names = tuple(name for name in table.column_names if name not in (ID, LABEL))
    columns = [_feature_column(path, name, table[name]) for name in names]
    if not columns:
        return np.zeros((table.num_rows, 0), dtype=np.float32), ()
    filled = sum(np.count_nonzero(column) for column in columns)
    if filled >= SPARSE_BELOW * table.num_rows * len(columns):
        return np.stack(columns, axis=1), names
    rows = [np.flatnonzero(column) for column in columns]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    values = np.concatenate([column[row] for column, row in zip(columns, rows, strict=True)])
    by_column = sp.csc_array((values, np.concatenate(rows), starts), shape=(table.num_rows, len(columns)))
    return sp.csr_array(by_column), names


def _feature_column(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    values = _plain(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type)):
        example = next((value for value in values.to_pylist() if value is not None), None)
        what = f"the feature column {name!r} holds {values.type}, not numbers (for example {example!r})"
        raise InvalidInput(f"{path}: {what}; encode it as numbers or drop it")
    _require_values(path, values, f"no value in the feature column {name!r}; fill it or drop the column")
    numbers = values.cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        value = values[bad[0]].as_py()
        raise InvalidInput(f"{path}, row {bad[0] + 1}: the feature {name!r} is {value}; expected a finite number")
    return numbers


def _require_values(path: Path, column: pa.Array, sentence: str) -> None:
    missing = _first(pc.is_null(column))
    if missing is not None:
        raise InvalidInput(f"{path}, row {missing + 1}: {sentence}")


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array without dictionaries and large offsets."""
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return whole.cast(pa.string()) if pa.types.is_large_string(whole.type) else whole


def _first(mask: pa.Array) -> int | None:
    index = pc.index(mask, True).as_py()
    return None if index < 0 else int(index)
