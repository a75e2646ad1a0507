"""A user's own graph: a table of nodes and a table of edges, CSV or Parquet; in and out."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from gvdn.data.table_files import ENDINGS, SEPARATORS, read_table, separator_of, write_json, write_table
from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph
from gvdn.graph.tables import links, reading, values, writing
from gvdn.limits import short
from gvdn.schema import read_json

ABOUT = "graph.json"
FORMATS = {"csv": ".csv", "parquet": ".parquet"}
"""Formats of tables that a graph can be written in."""


def read_tables(
    nodes: Path,
    edges: Path,
    *,
    columns: Columns | None = None,
    kinds: Mapping[str, str] | None = None,
    relation: str | None = None,
) -> Graph:
    """The graph of two tables: nodes (`id`, optional `label`, all else is features), edges (`source`, `target`).

    Ids are whole numbers or text; an empty label is an unlabelled node; see `Graph.from_tables` for the other columns.
    Errors name the file and the row, counted from 1. Tables beside a `graph.json` are what `write_tables` wrote.
    """
    tables = read_table(nodes, text=reading.NAMES), read_table(edges, text=reading.NAMES)
    about = nodes.parent / ABOUT
    if about.exists() and nodes.parent == edges.parent:
        content = read_json(about, "delete it to read the tables as new ones")
        return writing.from_written(*tables, content, (str(nodes), str(edges), str(about)))
    name = nodes.name.split(".")[0]
    return Graph.from_tables(
        *tables,
        columns=columns,
        kinds=kinds,
        relation=relation,
        name=nodes.resolve().parent.name if name == "nodes" else name,
        where=(str(nodes), str(edges)),
        notes=[note for path in (nodes, edges) if (note := _told_separator(path))],
    )


def _told_separator(path: Path) -> str:
    sign = "," if path.suffix == ".parquet" else separator_of(path, reading.NAMES)
    return "" if sign == "," else f"the columns of {path.name} are separated by {SEPARATORS[sign]}"


def write_tables(graph: Graph, folder: Path, format: str = "csv") -> None:
    """Write nodes, edges and graph.json into a folder; they read back to the same graph, its features as they are."""
    if format not in FORMATS:
        raise InvalidInput(f"expected the format {' or '.join(FORMATS)}, got {format!r}")
    nodes, edges, about = writing.to_tables(graph)
    if format == "csv":
        _require_plain_words(graph)
    for stem, table in (("nodes", nodes), ("edges", edges)):
        write_table(table, folder / f"{stem}{FORMATS[format]}")
    write_json(about, folder / ABOUT)


def _require_plain_words(graph: Graph) -> None:
    """Raise where a CSV would not give a word back: an empty one, or one with a line break or a null sign."""
    for what, names in (("id", graph.ids), ("class", graph.class_names), ("feature", writing.feature_columns(graph))):
        for name in map(str, names):
            if not name or any(sign in name for sign in "\r\n\0"):
                raise InvalidInput(
                    f"expected {what} names that a CSV can hold, got {short(name)}; write parquet or npz"
                )


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


def require_ids(path: Path) -> pa.ChunkedArray:
    """The column `id` of a table as it stands there; raises unless the table has one with at least one id."""
    table = read_table(path, text=reading.NAMES)
    reading.require_columns(table, str(path), reading.ID)
    if not table.num_rows:
        raise InvalidInput(f"{path}: a header but no rows; expected at least one node")
    column = table[reading.ID]
    if column.null_count == len(column):
        raise InvalidInput(f"{path}: the column {reading.ID} is empty; expected at least one node")
    return column


def read_ids(path: Path, *, like: Graph) -> np.ndarray:
    """The column `id` of a table, as numbers or text, whichever the graph's ids are."""
    column = require_ids(path)
    try:
        typed = links.as_type(values.one_array(column), pa.array(like.ids[:1]).type)
    except (pa.ArrowException, OverflowError) as problem:
        reason = str(problem).splitlines()[0]
        raise InvalidInput(
            f"{path}: expected ids like those of {like.name} ({reason}); correct the column id"
        ) from problem
    ids = typed.drop_null().to_numpy(zero_copy_only=False)
    return ids.astype(np.str_) if like.ids.dtype.kind == "U" else ids
