"""One part of a graph in memory: its nodes, their links, and its halo, the nodes of other parts that they link to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph.graph import Features
from gvdn.parts.manifest import AGAIN, Manifest

LINKS = pa.schema([("source", pa.int32()), ("part", pa.int32()), ("target", pa.int32()), ("weight", pa.float32())])
"""A link of a part's node `source`: the part of its other end, its position there, and the weight."""


def node_schema(ids: pa.DataType, sparse: bool) -> pa.Schema:
    """The columns of the nodes: id, label, and the features as lists; of sparse ones where they are and what."""
    x = {"x_columns": pa.list_(pa.int32()), "x_values": pa.list_(pa.float32())} if sparse else {
        "x": pa.list_(pa.float32())
    }  # fmt: skip
    return pa.schema([("id", ids), ("label", pa.int32()), *x.items()])


@dataclass(frozen=True, eq=False)
class Part:
    """The nodes of a part come first, then its halo, ordered by the part and the position there.

    Attributes:
        number: which part.
        ids: of its own nodes; labels likewise, -1 where there is none.
        features: of its own nodes.
        links: CSR of its own nodes x its own nodes and its halo, the weights of the links; no loops.
        borders: for each other part, the positions of its own nodes that are in the halo of that part, ascending. What
            the halo of this part has of the other one is as long there: links have no direction.
        halo: for each other part, the columns of `links` that are nodes of it, as a slice.
    """

    number: int
    ids: np.ndarray
    labels: np.ndarray
    features: Features
    links: sp.csr_array
    borders: dict[int, np.ndarray]
    halo: dict[int, slice]

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def halo_size(self) -> int:
        return int(self.links.shape[1]) - self.nodes


class Border(NamedTuple):
    """Number, borders and halo of a part, as `Part` has them."""

    number: int
    borders: dict[int, np.ndarray]
    halo: dict[int, slice]


def read_part(manifest: Manifest, number: int) -> Part:
    """A part from its two files, which `require_files` has looked at."""
    try:
        nodes = pq.read_table(manifest.path("nodes", number))
        links = pq.read_table(manifest.path("links", number))
        _require_columns(nodes, node_schema(nodes.schema.field("id").type, manifest.sparse))
        _require_columns(links, LINKS)
        size = nodes.num_rows
        features = _features(nodes, manifest.features, manifest.sparse)
        source, part, target, weight = (links[name].to_numpy() for name in ("source", "part", "target", "weight"))
        _require_links(manifest, number, source, part, target, weight)
        _require_nodes(manifest, number, nodes["label"].to_numpy(), features)
    except (pa.ArrowException, OSError, KeyError, ValueError) as problem:
        raise InvalidInput(f"{manifest.path('nodes', number)}: not a part ({problem}); {AGAIN}") from problem
    columns, borders, halo = bordering(number, size, source, part, target)
    end = max((piece.stop for piece in halo.values()), default=size)
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=size))])
    matrix = sp.csr_array((weight.copy(), columns, starts), shape=(size, end))
    matrix.sort_indices()
    ids = nodes["id"].to_numpy()
    ids = ids.astype(np.str_) if ids.dtype.kind == "O" else ids
    return Part(number, ids, nodes["label"].to_numpy().astype(np.int64), features, matrix, borders, halo)


def read_ids(manifest: Manifest, number: int) -> np.ndarray:
    """The ids of the nodes of a part alone."""
    try:
        ids = pq.read_table(manifest.path("nodes", number), columns=["id"])["id"].to_numpy()
    except (pa.ArrowException, OSError, KeyError) as problem:
        raise InvalidInput(f"{manifest.path('nodes', number)}: not a part ({problem}); {AGAIN}") from problem
    return ids.astype(np.str_) if ids.dtype.kind == "O" else ids


def bordering(
    number: int, size: int, source: np.ndarray, part: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, dict[int, np.ndarray], dict[int, slice]]:
    """The columns of the links of a part in its own nodes and its halo, its borders, and its halo (see `Part`)."""
    own = part == number
    columns = np.where(own, target, 0).astype(np.int64)
    borders, halo, end = {}, {}, size
    for other in np.unique(part[~own]).tolist():
        there = part == other
        nodes_there, which = np.unique(target[there], return_inverse=True)
        columns[there] = end + which
        halo[other] = slice(end, end + len(nodes_there))
        borders[other] = np.unique(source[there]).astype(np.int64)
        end += len(nodes_there)
    return columns, borders, halo


def _features(table: pa.Table, number: int, sparse: bool) -> Features:
    if sparse:
        columns, numbers = (table[name].combine_chunks() for name in ("x_columns", "x_values"))
        starts = columns.offsets.to_numpy() - columns.offsets[0].as_py()
        held = (numbers.flatten().to_numpy(), columns.flatten().to_numpy(), starts)
        return sp.csr_array(held, shape=(table.num_rows, number))
    flat = table["x"].combine_chunks().flatten().to_numpy()
    return flat.reshape(table.num_rows, number).astype(np.float32)


def _require_columns(table: pa.Table, wanted: pa.Schema) -> None:
    """Raise unless a table has these columns and every value of them."""
    if not table.schema.remove_metadata().equals(wanted):
        raise ValueError(f"expected the columns {', '.join(wanted.names)} of their types, got other ones")
    table.validate(full=True)
    kind = wanted.field(0).type
    if not (pa.types.is_int64(kind) or pa.types.is_string(kind) or pa.types.is_int32(kind)):
        raise ValueError(f"expected ids that are whole numbers or text, got {kind}")
    for name in wanted.names:
        column = table[name].combine_chunks()
        if column.null_count or (pa.types.is_list(column.type) and column.flatten().null_count):
            raise ValueError(f"expected a value of every row in the column {name}")


def _require_links(
    manifest: Manifest, number: int, source: np.ndarray, part: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> None:
    """Raise unless the links are those of nodes that are there, in their order, with positive weights."""
    sizes = np.array([share.nodes for share in manifest.shares])
    share = manifest.shares[number]
    if len(source) != share.links:
        raise ValueError(f"expected {share.links:,} links, got {len(source):,}")
    if not len(source):
        return
    if source.min() < 0 or source.max() >= share.nodes or (np.diff(source) < 0).any():
        raise ValueError(f"expected links of nodes 0 to {share.nodes - 1}, in this order")
    if part.min() < 0 or part.max() >= len(sizes) or target.min() < 0 or (target >= sizes[part]).any():
        raise ValueError("expected links to nodes of the parts, got one to a node that is not there")
    if not (np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError("expected positive weights of the links")


def _require_nodes(manifest: Manifest, number: int, labels: np.ndarray, features: Features) -> None:
    """Raise unless there are as many nodes as the manifest says, with known classes and finite features."""
    if len(labels) != manifest.shares[number].nodes:
        raise ValueError(f"expected {manifest.shares[number].nodes:,} nodes, got {len(labels):,}")
    if labels.min() < -1 or labels.max() >= len(manifest.class_names):
        raise ValueError(f"expected labels from -1 to {len(manifest.class_names) - 1}")
    held = features if isinstance(features, np.ndarray) else features.data
    if not np.isfinite(held).all():
        raise ValueError("expected finite features")
    if not isinstance(features, np.ndarray):
        features.check_format()
