"""What is partitioned: a graph in memory, or tables that are read piece by piece and never held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from gvdn.data import load_graph
from gvdn.data.tables import ABOUT, find_tables
from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph
from gvdn.graph.graph import Features
from gvdn.graph.tables import reading, values
from gvdn.graph.tables.encoding import encode
from gvdn.graph.tables.learning import learn_column
from gvdn.graph.tables.links import read_links
from gvdn.parts.rows import MemoryRows, Rows, sorted_rows
from gvdn.parts.tables import column, folder_tables, from_row, is_parquet, named_errors, pieces
from gvdn.parts.tables import names as names_of

NODES_AT_A_TIME = 1 << 17
LINKS_AT_A_TIME = 1 << 21


class Named(NamedTuple):
    """What is known of all nodes at once: a few numbers of each, in the order of the table."""

    ids: pa.Array
    labels: np.ndarray
    class_names: tuple[str, ...]


@dataclass(frozen=True)
class About:
    """What the parts say of the graph that they are of."""

    name: str
    features: int
    feature_names: tuple[str, ...]
    columns: Columns | None
    notes: tuple[str, ...] = field(default=())


@runtime_checkable
class Source(Protocol):
    """A graph that can be read piece by piece."""

    @property
    def named(self) -> Named: ...

    @property
    def about(self) -> About: ...

    def features(self) -> Iterator[Features]:
        """The feature rows, some nodes at a time, in the order of the nodes."""
        ...

    def rows(self, scratch: Path) -> Rows:
        """The links of every node; what does not fit into memory is kept in the folder `scratch`."""
        ...


class GraphSource:
    """A graph that is in memory already."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.named = Named(pa.array(graph.ids), graph.labels, graph.class_names)
        self.about = About(graph.name, graph.num_features, graph.feature_names, graph.columns, graph.notes)

    def features(self) -> Iterator[Features]:
        for start in range(0, self.graph.num_nodes, NODES_AT_A_TIME):
            yield self.graph.features[start : start + NODES_AT_A_TIME]

    def rows(self, scratch: Path) -> Rows:
        return MemoryRows(self.graph.adjacency)


class TableSource:
    """A table of nodes and one of links. Of the nodes one column is held at a time, and ids and labels; of the links a
    piece. What becomes of the columns is learned as `Graph.from_tables` learns it, or given by `columns`.
    """

    def __init__(
        self,
        nodes: Path,
        edges: Path,
        *,
        columns: Columns | None = None,
        kinds: Mapping[str, str] | None = None,
        relation: str | None = None,
    ) -> None:
        self.nodes, self.edges = nodes, edges
        names = names_of(nodes)
        reading.require_columns(pa.table({name: [] for name in names}), str(nodes), reading.ID)
        with named_errors(nodes):
            ids = reading.read_ids(str(nodes), column(nodes, reading.ID))
            label = {reading.LABEL: column(nodes, reading.LABEL)} if reading.LABEL in names else {}
            labels, class_names = reading.read_labels(pa.table(label))
        if not len(ids):
            raise InvalidInput(f"{nodes}: a header but no rows; expected at least one node")
        unlabelled = np.full(len(ids), -1, dtype=np.int64)
        self.named = Named(ids, unlabelled if labels is None else labels, class_names)
        self.columns = self._learned(names, kinds or {}) if columns is None else columns
        self.relation = relation or self.columns.relation
        self.columns = Columns(self.columns.columns, self.relation, self.columns.structure)
        stem = nodes.name.split(".")[0]
        name = nodes.resolve().parent.name if stem == "nodes" else stem
        found = self.columns.feature_names
        self.about = About(name, len(found), found, self.columns)

    def _learned(self, names: list[str], kinds: Mapping[str, str]) -> Columns:
        others = [name for name in names if name not in (reading.ID, reading.LABEL)]
        for name in kinds:
            if name not in others:
                raise InvalidInput(f"{self.nodes}: there is no column {name!r} to choose the kind of")
        made = (
            learn_column(name, values.one_array(column(self.nodes, name)), str(self.nodes), kinds.get(name))
            for name in others
        )
        return Columns(tuple(made))

    @property
    def has_features(self) -> bool:
        return self.columns.structure is None and any(column.is_used for column in self.columns.columns)

    def features(self) -> Iterator[Features]:
        for first, table in pieces(self.nodes, NODES_AT_A_TIME):
            yield encode(self.columns, table, from_row(self.nodes, first), learned=True)[0]

    def rows(self, scratch: Path) -> Rows:
        return sorted_rows(self._links(), len(self.named.ids), scratch)

    def _links(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        for first, table in pieces(self.edges, LINKS_AT_A_TIME):
            where = from_row(self.edges, first)
            reading.require_columns(table, where, reading.SOURCE, reading.TARGET)
            found = read_links(table, self.named.ids, where, self.relation)
            yield found.pairs, found.weights


def source_of(
    graph: str,
    edges: Path | None = None,
    *,
    columns: Columns | None = None,
    kinds: Mapping[str, str] | None = None,
    relation: str | None = None,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> Source:
    """The source of a graph that `load_graph` would load, or of folders of Parquet files.

    Tables are read piece by piece, unless their features have to be computed from all links at once, or gvdn wrote
    them.

    Args:
        edges: the table of links, where `graph` is that of the nodes; each may be a folder of Parquet files. Otherwise
            `graph` may be a folder that has such folders, nodes and edges.
        engine: local, or ray: Parquet files are read by so many workers (`gvdn.parts.ray_source`).
    """
    path = Path(graph)
    tables = None if edges is None else (path, Path(edges))
    if tables is None and path.is_dir() and not (path / "graph.npz").exists():
        tables = folder_tables(path) or find_tables(path)
    if engine != "local":
        return _on_ray(tables, engine, workers, address, columns=columns, kinds=kinds, relation=relation)
    if tables is not None and not (tables[0].parent / ABOUT).exists():
        found = TableSource(*tables, columns=columns, kinds=kinds, relation=relation)
        if found.has_features:
            return found
        if any(table.is_dir() for table in tables):
            raise InvalidInput(f"{tables[0]}: expected a column with features in a folder of Parquet files, got none")
    return GraphSource(load_graph(graph, edges, columns=columns, kinds=kinds, relation=relation))


def _on_ray(tables: tuple[Path, Path] | None, engine: str, workers: int, address: str | None, **how: Any) -> Source:
    from gvdn.cluster import require_engine
    from gvdn.parts.ray_source import RayTableSource

    require_engine(engine)
    if tables is None or not all(is_parquet(path) for path in tables):
        raise InvalidInput("expected tables in Parquet files for --engine ray; leave it out for other graphs")
    found = RayTableSource(*tables, workers=workers, address=address, **how)
    if not found.has_features:
        raise InvalidInput(f"{tables[0]}: expected a column with features for --engine ray, got none; leave it out")
    return found
