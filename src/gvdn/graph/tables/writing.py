"""A graph as tables that read back to the same graph: its features as they are, and `graph.json` about them."""

from typing import Any

import numpy as np
import pyarrow as pa

from gvdn.errors import InvalidInput
from gvdn.graph.graph import UNLABELLED, Graph
from gvdn.graph.tables import links, reading, values
from gvdn.graph.tables.columns import Columns
from gvdn.graph.tables.encoding import as_matrix
from gvdn.limits import short
from gvdn.schema import Field, Schema, checked

FORMAT, VERSION = "gvdn-tables", 1
_ABOUT: Schema = {
    "format": Field(str),
    "version": Field(int),
    "name": Field(str),
    "text_ids": Field(bool),
    "class_names": Field(list, items=Field(str)),
    "feature_names": Field(list, items=Field(str)),
    "columns": Field(dict, optional=True),
}


def to_tables(graph: Graph) -> tuple[pa.Table, pa.Table, dict[str, Any]]:
    """The table of nodes, that of links, and what `graph.json` says of them."""
    names = np.array([*graph.class_names, ""], dtype=object)
    labels = pa.array(names[graph.labels], pa.string(), mask=graph.labels == UNLABELLED)
    X = graph.features if isinstance(graph.features, np.ndarray) else graph.features.tocsc()
    named = {name: pa.array(_dense(X[:, [number]])) for number, name in enumerate(feature_columns(graph))}
    nodes = {reading.ID: pa.array(graph.ids), reading.LABEL: labels, **named}
    ends = graph.ids[graph.edges]
    edges = {links.SOURCE: pa.array(ends[:, 0]), links.TARGET: pa.array(ends[:, 1])}
    if graph.is_weighted:
        edges[links.WEIGHT] = pa.array(graph.edge_weights)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "text_ids": graph.ids.dtype.kind == "U",
        "class_names": list(graph.class_names),
        "feature_names": list(graph.feature_names),
        "columns": None if graph.columns is None else graph.columns.as_json(),
    }
    return pa.table(nodes), pa.table(edges), about


def _dense(column: Any) -> np.ndarray:
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()


def feature_columns(graph: Graph) -> list[str]:
    """The names of the columns of features: the features' own, where they are names of columns."""
    own = list(graph.feature_names)
    if own and len({*own, reading.ID, reading.LABEL}) == len(own) + 2 and all(own):
        return own
    return [f"f{number}" for number in range(graph.num_features)]


def from_written(nodes: Any, edges: Any, about: Any, where: tuple[str, str, str]) -> Graph:
    """The graph that `to_tables` gave these of; `where` names the two tables and the file about them."""
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidInput(f"{where[2]}: expected the format {FORMAT}, got something else; delete or rewrite it")
    if about.get("version") != VERSION:
        raise InvalidInput(f"{where[2]}: expected version {VERSION}, got {about.get('version')}; update gvdn")
    known = checked(about, _ABOUT, where[2])
    columns = None if known.get("columns") is None else Columns.from_json(known["columns"], f"columns of {where[2]}")
    node_table, edge_table = reading.arrow_table(nodes, where[0]), reading.arrow_table(edges, where[1])
    reading.require_columns(node_table, where[0], reading.ID, reading.LABEL)
    reading.require_columns(edge_table, where[1], links.SOURCE, links.TARGET)
    try:
        keys = values.one_array(node_table[reading.ID]).cast(pa.string() if known["text_ids"] else pa.int64())
        values.require_values(where[0], keys, "the id is missing; every node needs one")
        found = links.read_links(edge_table, keys, where[1], None)
        return Graph.from_edges(
            found.pairs,
            _features(node_table, where[0]),
            weights=found.weights,
            labels=_labels(node_table, known["class_names"], where[0]),
            ids=keys.to_numpy(zero_copy_only=False),
            class_names=tuple(known["class_names"]),
            feature_names=tuple(known["feature_names"]),
            name=known["name"],
            columns=columns,
        )
    except (pa.ArrowException, OverflowError) as problem:
        reason = str(problem).splitlines()[0]
        raise InvalidInput(f"{where[0]} and {where[1]}: not the tables of {where[2]} ({reason})") from problem


def _features(table: pa.Table, where: str) -> Any:
    blocks = []
    for name in table.column_names:
        if name in (reading.ID, reading.LABEL):
            continue
        found = values.numbers(values.one_array(table[name]))
        bad = np.zeros(0) if found is None else np.flatnonzero(~np.isfinite(found.numbers))
        if found is None or bad.size:
            row = f", row {bad[0] + 1}" if bad.size else ""
            raise InvalidInput(f"{where}{row}: expected a number in the column {name!r}; write the graph again")
        with np.errstate(over="ignore"):
            blocks.append(found.numbers.astype(np.float32))
    return as_matrix(blocks, table.num_rows)


def _labels(table: pa.Table, class_names: list[str], where: str) -> np.ndarray:
    numbers = {name: number for number, name in enumerate(class_names)}
    words = values.one_array(table[reading.LABEL]).cast(pa.string()).to_pylist()
    unknown = next((word for word in words if word is not None and word not in numbers), None)
    if unknown is not None:
        raise InvalidInput(f"{where}: expected labels of graph.json, got {short(unknown)}; write the graph again")
    return np.array([UNLABELLED if word is None else numbers[word] for word in words], dtype=np.int64)
