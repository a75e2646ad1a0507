"""A graph becomes parts on the disk: partitioned Parquet with a manifest."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.files import whole_folder
from gvdn.graph.graph import Features
from gvdn.parts.assign import UNPLACED, assigned, chosen_partitioner
from gvdn.parts.manifest import Manifest, Share, file_name, read_manifest, require_files, sha256
from gvdn.parts.part import LINKS, node_schema
from gvdn.parts.rows import Rows
from gvdn.parts.source import Source


def partition(
    source: Source,
    output: Path,
    parts: int,
    *,
    partitioner: str = "auto",
    like: Path | None = None,
    force: bool = False,
) -> Manifest:
    """Write a graph as parts into the folder `output`, whole or not at all.

    A node belongs to one part, with its features, its label and all its links; links name the other end by its part and
    its position there. Held in memory are ids, labels and one number of each node; METIS holds the links too.

    Args:
        partitioner: metis, stream, or auto: metis where pymetis is installed.
        like: an earlier partition, of another state of the graph; its nodes stay in their parts, which is what a model
            that was trained on those parts needs.
    """
    partitioner = chosen_partitioner(partitioner)
    old = None if like is None else read_manifest(like)
    if old is not None and old.parts != parts:
        raise InvalidInput(f"{like} has {old.parts} parts, got --parts {parts}; give the same number, or none")
    with whole_folder(output, force=force) as folder, tempfile.TemporaryDirectory(dir=folder) as scratch:
        rows = source.rows(Path(scratch))
        placed = None if old is None else _as_before(source, old)
        part = assigned(rows, parts, partitioner, placed)
        manifest = _written(source, rows, part, parts, folder, "stream" if old else partitioner)
        dataclasses.replace(manifest, like="" if old is None else old.identity).save()
    return read_manifest(output)


def _as_before(source: Source, old: Manifest) -> np.ndarray:
    """The part of each node in an earlier partition, -1 for a node that it has not."""
    require_files(old)
    part = np.full(len(source.named.ids), UNPLACED, dtype=np.int32)
    for number in range(old.parts):
        ids = pq.read_table(old.path("nodes", number), columns=["id"])["id"].combine_chunks()
        if ids.type != source.named.ids.type:
            raise InvalidInput(f"the ids of {old.folder} are {ids.type}, those of the graph {source.named.ids.type}")
        there = pc.is_in(source.named.ids, value_set=ids).to_numpy(zero_copy_only=False)
        part[np.asarray(there, dtype=bool)] = number
    return part


def _written(source: Source, rows: Rows, part: np.ndarray, parts: int, folder: Path, partitioner: str) -> Manifest:
    """Write the files; the manifest that describes them."""
    named, about = source.named, source.about
    sizes = np.bincount(part, minlength=parts)
    order = np.argsort(part, kind="stable")
    local = np.empty(len(part), dtype=np.int32)
    local[order] = np.arange(len(part)) - np.repeat(np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    digest = hashlib.sha256(f"{about.name} {parts} {about.feature_names}".encode() + part.tobytes())
    links, cut, weighted, halos = _write_links(rows, part, local, folder, parts, digest)
    identity = digest.hexdigest()[:24]
    sparse = _write_nodes(source, part, folder, parts, identity)
    files = {
        name: (sha256(folder / name), (folder / name).stat().st_size)
        for name in (file_name(kind, number) for kind in ("nodes", "links") for number in range(parts))
    }
    columns = zip(sizes.tolist(), links.tolist(), cut.tolist(), halos, strict=True)
    return Manifest(
        folder=folder,
        identity=identity,
        name=about.name,
        partitioner=partitioner,
        nodes=len(part),
        edges=int(links.sum()) // 2,
        features=about.features,
        sparse=sparse,
        weighted=weighted,
        class_names=named.class_names,
        feature_names=about.feature_names,
        columns=about.columns,
        shares=tuple(Share(*one) for one in columns),
        files=files,
        notes=about.notes,
    )


def _write_links(
    rows: Rows, part: np.ndarray, local: np.ndarray, folder: Path, parts: int, digest: "hashlib._Hash"
) -> tuple[np.ndarray, np.ndarray, bool, list[int]]:
    """Links of each part, those that leave it, whether any weight is not 1, and the size of each halo."""
    links, cut, weighted = np.zeros(parts, dtype=np.int64), np.zeros(parts, dtype=np.int64), False
    halo = np.zeros(parts, dtype=np.int64)
    with ExitStack() as stack:
        files = _writers(stack, folder, "links", parts, LINKS)
        for block in rows:
            sources = block.sources
            digest.update(np.diff(block.starts).tobytes() + block.columns.tobytes() + block.weights.tobytes())
            own, other = part[sources], part[block.columns]
            leaves = own != other
            links += np.bincount(own, minlength=parts)
            cut += np.bincount(own[leaves], minlength=parts)
            # A node is once in the halo of each part that it has a link to.
            pairs = np.unique(np.stack([sources[leaves], other[leaves]], axis=1), axis=0)
            halo += np.bincount(pairs[:, 1], minlength=parts)
            weighted = weighted or bool((block.weights != 1).any())
            for number, mine in _by_part(own, parts):
                columns = (local[sources[mine]], other[mine], local[block.columns[mine]], block.weights[mine])
                files[number].write_table(pa.table(dict(zip(LINKS.names, columns, strict=True)), schema=LINKS))
    return links, cut, weighted, halo.tolist()


def _write_nodes(source: Source, part: np.ndarray, folder: Path, parts: int, identity: str) -> bool:
    """Id, label and features of the nodes of each part; returns whether the features are sparse."""
    named, first, sparse = source.named, 0, None
    with ExitStack() as stack:
        files: list[pq.ParquetWriter] = []
        for features in source.features():
            rows = features.shape[0]
            if sparse is None:
                sparse = sp.issparse(features)
                schema = node_schema(named.ids.type, sparse).with_metadata({"gvdn.partition": identity})
                files = _writers(stack, folder, "nodes", parts, schema)
            here = slice(first, first + rows)
            for number, mine in _by_part(part[here], parts):
                ids, labels = named.ids.slice(first, rows).take(pa.array(mine)), named.labels[here][mine]
                columns = {"id": ids, "label": labels.astype(np.int32), **_feature_columns(features[mine], sparse)}
                files[number].write_table(pa.table(columns, schema=files[number].schema))
            first += rows
    if first != len(part):
        raise InvalidInput(f"expected the features of {len(part):,} nodes, got {first:,}: the table changed meanwhile")
    return bool(sparse)


def _feature_columns(features: Features, sparse: bool) -> dict[str, pa.Array]:
    """The rows as lists: all numbers, or the columns and values of those that are not 0."""
    if sparse:
        rows = sp.csr_array(features)
        starts = pa.array(rows.indptr.astype(np.int32))
        values = {"x_columns": rows.indices.astype(np.int32), "x_values": rows.data.astype(np.float32)}
        return {name: pa.ListArray.from_arrays(starts, pa.array(array)) for name, array in values.items()}
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    starts = np.arange(len(dense) + 1, dtype=np.int32) * dense.shape[1]
    return {"x": pa.ListArray.from_arrays(pa.array(starts), pa.array(dense.astype(np.float32).ravel()))}


def _by_part(own: np.ndarray, parts: int) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of each part that has any."""
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(parts + 1))
    for number in range(parts):
        if ends[number + 1] > ends[number]:
            yield number, order[ends[number] : ends[number + 1]]


def _writers(stack: ExitStack, folder: Path, kind: str, parts: int, schema: pa.Schema) -> list[pq.ParquetWriter]:
    made = []
    for number in range(parts):
        path = folder / file_name(kind, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.append(stack.enter_context(pq.ParquetWriter(path, schema)))
    return made
