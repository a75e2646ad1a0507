"""The frozen, attributed, undirected graph."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float32, Float64, Int64, Shaped

from gvdn.errors import InvalidInput
from gvdn.graph import checks
from gvdn.graph.csr import csr_parts, upper_entries
from gvdn.graph.edges import Dropped, clean_edges, find_keys, sorted_once, weights_by_edge
from gvdn.graph.published import Published
from gvdn.graph.tables.columns import Columns

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

Features: TypeAlias = "np.ndarray | sp.csr_array"
"""N x d, float32: dense, or sparse in CSR."""

Positions: TypeAlias = Int64[np.ndarray, "_"]
"""Rows of a graph. Ids name nodes across graphs, positions only within one."""

UNLABELLED = -1

# Arguments of any kind are accepted and checked at run time; once checked they have these types.
if TYPE_CHECKING:
    Matrix: TypeAlias = sp.csr_array
    Rows: TypeAlias = Features
    Vector: TypeAlias = np.ndarray
    PositionsLike: TypeAlias = "Positions | Sequence[int]"
    GraphLike: TypeAlias = "Graph | Data | networkx.Graph"
    """What public functions take as a graph; `as_graph` converts it."""
else:
    Matrix = Rows = Vector = PositionsLike = GraphLike = object


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """G = (A, X) with labels: undirected, a positive weight on every edge, without loops.

    Arguments are checked once, here, then copied and frozen: the caller's arrays and the graph do not share memory.
    Parts of another graph are shared with it as they are.

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> triangle = sp.csr_array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> Graph(triangle, np.eye(3), labels=[0, 1, 1], name="triangle")
    Graph('triangle': 3 nodes, 3 edges, 3 features, 2 classes)

    Args:
        adjacency: symmetric N x N CSR, no loops. Every entry is an edge and its value is the weight, a positive number.
        features: N x d, dense or sparse, finite.
        labels: class of each node, -1 where unlabelled; all unlabelled when left out.
        ids: unique names of the nodes (integers or text); 0..N-1 when left out. They survive subgraphs, growth and
            reordering, and are what stored embeddings are found by.
        class_names: one per class; the numbers themselves when left out.
        feature_names: one per column, or none at all.
        name: the name that tables print; random splits and perturbations depend on it.
        dropped: loops and duplicates that `from_edges` left out; not part of the content.
        columns: what became of the columns of the node table that the features are from; not part of the content.
        notes: what a reader of the graph should know of how it was read, in sentences; not part of the content.
        protocol: the catalogue's settings of a perturbation of this dataset, by its name; not part of the content.
        published: splits and times that came with the graph, by id; not part of the content.
    """

    adjacency: Matrix
    features: Rows
    labels: Vector = None  # type: ignore[assignment]
    ids: Vector = None  # type: ignore[assignment]
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    name: str = "graph"
    dropped: Dropped = dataclasses.field(default_factory=Dropped)
    protocol: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    columns: Columns | None = None
    notes: tuple[str, ...] = ()
    published: Published | None = None

    def __post_init__(self) -> None:
        adjacency = checks.adjacency(self.adjacency)
        nodes = adjacency.shape[0]
        labels, features = checks.labels(self.labels, nodes), checks.features(self.features, nodes)
        checked = {"adjacency": adjacency, "features": features, "labels": labels, "ids": checks.ids(self.ids, nodes)}
        checked["class_names"] = checks.class_names(self.class_names, labels)
        checked["feature_names"] = checks.feature_names(self.feature_names, features.shape[1])
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_edges(cls, edges: Any, features: Any, *, weights: Any = None, **rest: Any) -> "Graph":
        """A graph from pairs of positions (two columns) in any order; loops and duplicates are dropped and counted.

        `weights` has a positive number for each pair, 1 when left out; those of parallel links are added.

        >>> Graph.from_edges([[0, 1], [1, 2]], [[1.0], [0.5], [0.0]], labels=[0, 0, 1])
        Graph('graph': 3 nodes, 2 edges, 1 features, 2 classes)
        """
        rows = checks.matrix(features)
        found = clean_edges(edges, rows.shape[0], weights)
        adjacency = adjacency_from_pairs(found.pairs, rows.shape[0], found.weights)
        return cls(adjacency, rows, dropped=found.dropped, notes=(*rest.pop("notes", ()), *found.notes), **rest)

    @classmethod
    def from_tables(cls, nodes: Any, edges: Any, **how: Any) -> "Graph":
        """A graph from a table of nodes (`id`, optional `label`, all else is features) and one of links.

        The links have `source` and `target`, ids of nodes, and optionally `weight` and `relation`. What becomes of the
        columns of the nodes is learned from them (`graph.columns`), or given. `graph.notes` says what was read how.

        >>> nodes = {"id": ["a", "b", "c"], "age": [20, 30, 70], "label": ["x", "y", None]}
        >>> Graph.from_tables(nodes, {"source": ["a", "a"], "target": ["b", "c"], "weight": [1, 2.5]})
        Graph('graph': 3 nodes, 2 edges, 1 features, 2 classes)

        Args:
            nodes, edges: pandas, polars or Arrow tables, or dicts of lists.
            columns: those of the graph that a model was fitted on (`model.columns_`), to read this one alike.
            kinds: name of a column -> number, plain, boolean, category, date or ignore, where it is not as it seems.
            relation: only the links of this relation; all of them when left out.
            name: the name of the graph.
        """
        from gvdn.graph.tables import reading

        return reading.from_tables(nodes, edges, **how)

    @classmethod
    def from_pandas(cls, nodes: Any, edges: Any, **how: Any) -> "Graph":
        """`from_tables` with two pandas frames; the index is not read."""
        return cls.from_tables(nodes, edges, **how)

    @classmethod
    def from_polars(cls, nodes: Any, edges: Any, **how: Any) -> "Graph":
        """`from_tables` with two polars frames."""
        return cls.from_tables(nodes, edges, **how)

    @classmethod
    def from_pyg(cls, data: "Data", **rest: Any) -> "Graph":
        """A graph from torch-geometric's `Data` (`edge_index`, optionally `x`, `y`, `node_id` and `edge_weight`).

        An `edge_attr` of one number per link is a weight too. Direction, loops and duplicates are dropped.
        """
        from gvdn.graph import convert

        return convert.from_pyg(data, **rest)

    def to_pyg(self, **columns: Any) -> "Data":
        """torch-geometric's `Data` with `x` (dense), `edge_index` (both directions), `y` and `node_id`.

        Where any weight is not 1, `edge_weight` is there too.
        Arrays with one row per node are attached by name: `graph.to_pyg(prediction=model.predict(graph))`.
        """
        from gvdn.graph import convert

        return convert.to_pyg(self, **columns)

    @classmethod
    def from_networkx(cls, graph: "networkx.Graph", **rest: Any) -> "Graph":
        """A graph from NetworkX: node attribute `x` (a vector) of all nodes or of none, and `label` (the class name).

        Nodes must be whole numbers or text, which become the ids. The edge attribute `weight` is used where there is
        one; direction and loops are dropped.
        """
        from gvdn.graph import convert

        return convert.from_networkx(graph, **rest)

    def to_networkx(self) -> "networkx.Graph":
        """NetworkX graph over the ids, with `x` and `label` on the nodes, and `weight` on the edges if any is not 1."""
        from gvdn.graph import convert

        return convert.to_networkx(self)

    @property
    def num_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return int(self.adjacency.nnz) // 2

    @property
    def num_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def dense_features(self) -> Float32[np.ndarray, "n d"]:
        """A dense copy of X, whether it is stored dense or sparse."""
        return self.features.copy() if isinstance(self.features, np.ndarray) else self.features.toarray()

    @cached_property
    def degrees(self) -> Int64[np.ndarray, " n"]:
        """Number of neighbours of each node, without itself."""
        return checks.frozen(np.diff(self.adjacency.indptr).astype(np.int64))

    @cached_property
    def edges(self) -> Int64[np.ndarray, "m 2"]:
        """Each undirected edge once, as positions (smaller, larger), in lexicographic order."""
        above, rows = upper_entries(self.adjacency)
        return checks.frozen(np.stack([rows, self.adjacency.indices[above]], axis=1, dtype=np.int64))

    @cached_property
    def edge_weights(self) -> Float32[np.ndarray, " m"]:
        """The weight of each of the `edges`."""
        return checks.frozen(self.adjacency.data[upper_entries(self.adjacency)[0]])

    def weights_of(self, pairs: Int64[np.ndarray, "k 2"]) -> Float32[np.ndarray, " k"]:
        """The weight of the edge between each pair (smaller, larger); 1 where there is none."""
        keys, wanted = (edge_keys(part, self.num_nodes) for part in (self.edges, pairs))
        return weights_by_edge(keys, self.edge_weights, wanted)

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any edge has another weight than 1."""
        return bool((self.adjacency.data != 1).any())

    @cached_property
    def strengths(self) -> Float64[np.ndarray, " n"]:
        """The sum of the weights of each node's edges: its degree, where all weights are 1."""
        return checks.frozen(np.asarray(self.adjacency.sum(axis=1, dtype=np.float64)).ravel())

    @cached_property
    def hash(self) -> str:
        """sha256 of the content: structure, weights, features, labels, ids, class names; not the graph's own name."""
        digest = hashlib.sha256()
        for part in (self.adjacency.indptr, self.adjacency.indices, self.labels):
            digest.update(part.astype("<i8").tobytes())
        if self.is_weighted:
            digest.update(b"weights" + self.adjacency.data.astype("<f4").tobytes())
        for start in range(0, self.num_nodes, 4096):  # dense and sparse features with the same values hash alike
            for part, kind in zip(csr_parts(self.features[start : start + 4096]), ("<i8", "<i8", "<f4"), strict=True):
                digest.update(np.ascontiguousarray(part, dtype=kind).data)
        digest.update(repr((self.features.shape, [str(i) for i in self.ids], self.class_names)).encode())
        return digest.hexdigest()

    def locate(self, ids: Shaped[np.ndarray, " k"]) -> Positions:
        """Positions of the given ids, -1 where this graph has no such node."""
        return find_ids(self.ids, ids)

    def subgraph(self, positions: PositionsLike) -> "Graph":
        """The induced subgraph on these nodes, in this order (a permutation of all nodes reorders the graph)."""
        rows = checks.positions("nodes of the subgraph", positions)
        if rows.size and rows.max() >= self.num_nodes:
            raise InvalidInput(f"expected positions among the {self.num_nodes} nodes, got {rows.max()}")
        parts = {name: getattr(self, name)[rows] for name in ("features", "labels", "ids")}
        return dataclasses.replace(self, adjacency=self.adjacency[rows][:, rows], **parts)

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} edges, "
            f"{self.num_features:,} features, {self.num_classes} classes)"
        )


def find_ids(ids: Shaped[np.ndarray, " n"], wanted: Shaped[np.ndarray, " k"]) -> Positions:
    """The position of each wanted id in `ids`, -1 where it is not there."""
    wanted = np.asarray(wanted)
    if not (ids.size and wanted.size) or (wanted.dtype.kind == "U") != (ids.dtype.kind == "U"):
        return np.full(len(wanted), -1, dtype=np.int64)
    if np.array_equal(ids, wanted):  # the usual case: nothing to sort
        return np.arange(len(ids), dtype=np.int64)
    order = np.argsort(ids, kind="stable").astype(np.int64)
    found = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return np.where(ids[found] == wanted, found, -1)


def unused_ids(ids: Shaped[np.ndarray, " n"], number: int, word: str) -> Shaped[np.ndarray, " k"]:
    """So many further ids of the same kind: the whole numbers above the largest, or else below the smallest; or the
    first of word-1, word-2 and so on that are not taken."""
    if ids.dtype.kind == "U":
        taken = int(np.char.startswith(ids, f"{word}-").sum())  # of more words than these, enough are free
        words = np.array([f"{word}-{count + 1}" for count in range(number + taken)], dtype=np.str_)
        return words[find_ids(ids, words) < 0][:number]
    limits, count = np.iinfo(np.int64), np.arange(number, dtype=np.int64)
    first, last = (int(ids.min()), int(ids.max())) if ids.size else (0, -1)
    if last <= limits.max - number:
        return last + 1 + count
    if first < limits.min + number:
        raise InvalidInput(f"expected ids up to {limits.max - number}, got {last}; number the nodes anew")
    return first - number + count


def edge_keys(pairs: Int64[np.ndarray, "m 2"], nodes: int) -> Int64[np.ndarray, " m"]:
    """One number per pair of positions, which sorts as the pairs do."""
    return pairs[:, 0] * nodes + pairs[:, 1]


def not_linked(graph: Graph, drawn: Int64[np.ndarray, "m 2"]) -> Int64[np.ndarray, "k 2"]:
    """The drawn pairs that are neither loops nor links, each once, as (smaller, larger)."""
    pairs = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    keys = sorted_once(edge_keys(pairs, graph.num_nodes))
    keys = keys[find_keys(edge_keys(graph.edges, graph.num_nodes), keys) < 0]
    return np.stack([keys // graph.num_nodes, keys % graph.num_nodes], axis=1)


def adjacency_from_pairs(
    pairs: Int64[np.ndarray, "m 2"], nodes: int, weights: Float32[np.ndarray, " m"] | None = None
) -> sp.csr_array:
    """Symmetric CSR from undirected edges, each given once; all weights are 1 when left out."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    values = np.ones(len(both), dtype=np.float32) if weights is None else np.concatenate([weights, weights])
    return sp.csr_array((values, (both[:, 0], both[:, 1])), shape=(nodes, nodes))
