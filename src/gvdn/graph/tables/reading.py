"""A graph from two tables: one of nodes (`id`, `label`, features), one of links (`source`, `target`, `weight`)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gvdn.errors import InvalidInput
from gvdn.graph.graph import UNLABELLED, Graph
from gvdn.graph.tables import values
from gvdn.graph.tables.columns import Columns
from gvdn.graph.tables.encoding import encode
from gvdn.graph.tables.learning import learn_column, learned_notes, listed
from gvdn.graph.tables.links import read_links
from gvdn.graph.tables.structure import with_structural_features
from gvdn.limits import short
from gvdn.registry import did_you_mean

LONGEST = 100
"""Characters of the name of a column."""
NAMES = ID, LABEL, SOURCE, TARGET = "id", "label", "source", "target"


def from_tables(
    nodes: Any,
    edges: Any,
    *,
    columns: Columns | None = None,
    kinds: Mapping[str, str] | None = None,
    relation: str | None = None,
    name: str = "graph",
    where: tuple[str, str] = ("the node table", "the edge table"),
    notes: Sequence[str] = (),
) -> Graph:
    """See `Graph.from_tables`; `where` names the tables in sentences, `notes` come before those of the reading."""
    node_table, edge_table = (arrow_table(one, what) for one, what in zip((nodes, edges), where, strict=True))
    require_columns(node_table, where[0], ID)
    require_columns(edge_table, where[1], SOURCE, TARGET)
    if not node_table.num_rows:
        raise InvalidInput(f"{where[0]}: a header but no rows; expected at least one node")
    try:
        return _graph(node_table, edge_table, columns, kinds or {}, relation, name, where, tuple(notes))
    except (pa.ArrowException, OverflowError) as problem:  # a column of an unexpected type
        reason = str(problem).splitlines()[0]
        told = f"{where[0]} and {where[1]}: a column is of a kind that cannot be used ({reason})"
        raise InvalidInput(told) from problem


def _graph(
    nodes: pa.Table,
    edges: pa.Table,
    columns: Columns | None,
    kinds: Mapping[str, str],
    relation: str | None,
    name: str,
    where: tuple[str, str],
    notes: tuple[str, ...],
) -> Graph:
    keys = read_ids(where[0], nodes[ID])
    labels, class_names = read_labels(nodes)
    columns, said = _columns(nodes, columns, kinds, where[0])
    features, told = encode(columns, nodes, where[0], learned=said.learned)
    links = read_links(edges, keys, where[1], relation or columns.relation)
    columns = Columns(columns.columns, relation or columns.relation, columns.structure)
    graph = Graph.from_edges(
        links.pairs,
        features,
        weights=links.weights,
        labels=labels,
        ids=keys.to_numpy(zero_copy_only=False),
        class_names=class_names,
        feature_names=columns.feature_names[: features.shape[1]],
        name=name,
        columns=columns,
        notes=(*notes, *said.notes, *told, *links.notes),
    )
    bare = columns.structure is not None or not any(column.is_used for column in columns.columns)
    return with_structural_features(graph, columns) if bare else graph


class _Said(NamedTuple):
    """Whether the columns were learned from this table, and what is to be said of it."""

    learned: bool
    notes: list[str]


def _columns(table: pa.Table, columns: Columns | None, kinds: Mapping[str, str], where: str) -> tuple[Columns, _Said]:
    """The columns of a table, learned from it or those that are given, and what is to be said of that."""
    names = [name for name in table.column_names if name not in (ID, LABEL)]
    for name in kinds:
        if name not in names:
            raise InvalidInput(f"{where}: there is no column {name!r} to choose the kind of{did_you_mean(name, names)}")
    if columns is None:
        arrays = ((name, values.one_array(table[name])) for name in names)
        learned = tuple(learn_column(name, array, where, kinds.get(name)) for name, array in arrays)
        return Columns(learned), _Said(True, list(learned_notes(learned)))
    if kinds:
        raise InvalidInput(
            f"the kinds of the columns were learned with the model; leave --column {next(iter(kinds))} out"
        )
    known = {column.name for column in columns.columns}
    new = [name for name in names if name not in known]
    for column in columns.columns:
        if column.is_used and column.name not in names:
            near = f" ({listed(new)} {'is' if len(new) == 1 else 'are'} new)" if new else ""
            do = "rename or add it (empty values are filled), or train again without it"
            told = f"{where}: expected the column {column.name!r}, which was there when the columns were learned"
            raise InvalidInput(f"{told}, got none{near}; {do}")
    if not new:
        return columns, _Said(False, [])
    is_new = f"{listed(new)} {'is' if len(new) == 1 else 'are'} new since the columns were learned and not used"
    return columns, _Said(False, [f"{is_new}; train again to use them"])


def arrow_table(given: Any, what: str) -> pa.Table:
    """An Arrow table of what is given: one, a pandas or polars frame, anything with an Arrow stream, or a dict."""
    try:
        table = _as_arrow(given)
        names = table.column_names
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as problem:
        reason = " ".join(str(problem).split())[:200]
        wanted = "a pandas, polars or Arrow table, or a dict of lists"
        raise InvalidInput(f"expected {wanted} as {what}, got {type(given).__name__} ({reason})") from problem
    require_names(names, what)
    return table


def require_names(names: Sequence[str], what: str) -> None:
    """Raise where a name of a column is there twice, or so long that it is none."""
    long = next((name for name in names if len(name) > LONGEST), None)
    if long is not None:
        raise InvalidInput(
            f"{what}: expected column names of at most {LONGEST} characters, got {short(long)}; shorten it"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{what}: the column {twice[0]!r} is there twice; rename one")


def _as_arrow(given: Any) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if any(kind.__module__.partition(".")[0] == "pandas" for kind in type(given).__mro__):
        return pa.Table.from_pandas(given, preserve_index=False)
    return pa.table(given.to_arrow() if hasattr(given, "to_arrow") else given)


def require_columns(table: pa.Table, where: str, *wanted: str) -> None:
    if not set(wanted) <= set(table.column_names):
        columns, got = f"column{'s' * (len(wanted) > 1)} {' and '.join(wanted)}", ", ".join(table.column_names[:8])
        raise InvalidInput(f"{where}: expected the {columns}, got {got or 'none'}; rename them")


def read_ids(where: str, column: pa.ChunkedArray) -> pa.Array:
    """The ids, whole numbers if all of them are written as such, else text; unique, none missing."""
    keys = values.one_array(column)
    values.require_values(where, keys, "the id is missing; every node needs one")
    keys = _numbers_if_all(keys)
    counted = pc.value_counts(keys)
    repeated = counted.filter(pc.greater(counted.field("counts"), 1))
    if len(repeated):
        twice = repeated[0]["values"]
        rows = np.flatnonzero(pc.equal(keys, twice).to_numpy(zero_copy_only=False)) + 1
        raise InvalidInput(
            f"{where}, row {rows[1]}: the id {short(twice.as_py())} is in row {rows[0]} too; ids are unique"
        )
    return keys


def _numbers_if_all(keys: pa.Array) -> pa.Array:
    if pa.types.is_integer(keys.type):
        return keys.cast(pa.int64())
    try:
        numbers = keys.cast(pa.int64())
    except pa.ArrowInvalid:
        return keys
    return numbers if pc.all(pc.equal(numbers.cast(pa.string()), keys)).as_py() else keys


def read_labels(table: pa.Table) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Class numbers in the order of the class names (as numbers, if all are numbers), -1 where it is missing."""
    if LABEL not in table.column_names:
        return None, ()
    column = values.one_array(table[LABEL])
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    words = column.cast(pa.string())
    ordered = sorted(pc.unique(words.drop_null()).to_pylist(), key=_natural)
    numbers = pc.fill_null(pc.index_in(words, value_set=pa.array(ordered, pa.string())), UNLABELLED)
    return numbers.to_numpy(zero_copy_only=False).astype(np.int64), tuple(ordered)


def _natural(word: str) -> tuple[int, float, str]:
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)
