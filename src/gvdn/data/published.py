"""Readers of the published formats: planetoid's `ind.*`, gnn-benchmark's npz, GraphSAINT's four files, the gzipped
tables of the Open Graph Benchmark, and the npz of Platonov et al."""

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from gvdn.data import ogb
from gvdn.data.archives import unpack
from gvdn.data.catalogue import Dataset
from gvdn.data.planetoid import read_planetoid
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Published, read_npz
from gvdn.graph.csr import checked_csr, edges_of
from gvdn.graph.npz import BROKEN, read_array, read_arrays
from gvdn.schema import Field, read_json

PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
GRAPHSAINT_FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")


def published_files(dataset: Dataset) -> tuple[str, ...]:
    """Names of the files that the publisher released."""
    if dataset.source == "planetoid":
        return tuple(f"ind.{dataset.stem.lower()}.{part}" for part in PLANETOID_PARTS)
    if dataset.source in ("gnn-benchmark", "platonov"):
        return (f"{dataset.stem}.npz",)
    if dataset.source == "ogb":
        return ogb.FILES
    return tuple(name for name in GRAPHSAINT_FILES if name != "feats.npy" or not dataset.simulated_features)


def find_published(dataset: Dataset, folder: Path) -> Graph | None:
    """The graph if all of the publisher's files are in the folder or in one of the usual folders below it."""
    names = (dataset.name, dataset.name.replace("-", "_"), dataset.stem, f"{dataset.stem}/raw", "raw")
    for below in (folder, *(folder / name for name in names)):
        if all((below / name).exists() for name in published_files(dataset)):
            return read_published(dataset, below)
    archive = folder / archive_of(dataset)
    return read_archive(dataset, archive) if dataset.source == "ogb" and archive.exists() else None


def archive_of(dataset: Dataset) -> str:
    """The name of the archive that has all of the publisher's files."""
    return f"{dataset.stem}.zip"


def read_archive(dataset: Dataset, archive: Path) -> Graph:
    """The graph of the publisher's files in a zip archive."""
    with tempfile.TemporaryDirectory(prefix="gvdn-") as scratch:
        unpack(archive, dataset.stem, published_files(dataset), (ogb.CLASSES,), Path(scratch))
        return read_published(dataset, Path(scratch))


def read_published(dataset: Dataset, folder: Path) -> Graph:
    """The graph of the publisher's files in this folder."""
    if dataset.source == "planetoid":
        return read_planetoid(folder, dataset.stem)
    if dataset.source == "gnn-benchmark":
        return read_gnn_benchmark(folder / published_files(dataset)[0])
    if dataset.source == "platonov":
        return read_platonov(folder / published_files(dataset)[0])
    if dataset.source == "ogb":
        return ogb.read_ogb(folder)
    return read_graphsaint(folder, features=not dataset.simulated_features)


def read_gnn_benchmark(path: Path) -> Graph:
    """Shchur et al., Pitfalls of graph neural network evaluation (2018)."""
    arrays = read_arrays(path)
    try:
        parts = (arrays[f"attr_{part}"] for part in ("data", "indices", "indptr", "shape"))
        features = checked_csr("the features", *parts)
        edges = edges_of(arrays["adj_indices"], arrays["adj_indptr"], "the adjacency matrix")
        return Graph.from_edges(edges, features, labels=arrays["labels"])
    except KeyError as problem:
        raise InvalidInput(f"{path}: expected the gnn-benchmark layout, but the key {problem} is missing") from problem


PLATONOV = ("node_features", "node_labels", "edges", "train_masks", "val_masks", "test_masks")


def read_platonov(path: Path) -> Graph:
    """Platonov et al., A critical look at the evaluation of GNNs under heterophily (ICLR 2023).

    The masks hold ten splits, one in each row: `published_split` gives that with the number of the seed.
    """
    arrays = read_arrays(path)
    if not set(PLATONOV) <= set(arrays):
        got = f"{', '.join(arrays) or 'none'}; get it again"
        raise InvalidInput(f"{path}: expected the keys {', '.join(PLATONOV)}, got {got}")
    try:
        nodes = len(np.atleast_1d(arrays["node_labels"]))
        published = Published.from_masks(np.arange(nodes), *(arrays[name] for name in PLATONOV[3:]))
        features, labels = arrays["node_features"], arrays["node_labels"]
        return Graph.from_edges(arrays["edges"], features, labels=labels, published=published)
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}; get it again") from problem


def read_ours(path: Path, dataset: Dataset) -> Graph:
    """A graph in our npz layout; some publishers name theirs as we do, so that the keys tell which it is."""
    if dataset.source == "platonov" and path.name in published_files(dataset) and _has(path, "node_labels.npy"):
        return read_platonov(path)
    return read_npz(path)


def _has(path: Path, member: str) -> bool:
    """Whether an archive has a member; a file that cannot be opened has none, and its reader says why."""
    try:
        with zipfile.ZipFile(path) as archive:
            return member in archive.namelist()
    except BROKEN:
        return False


def read_graphsaint(folder: Path, *, features: bool = True) -> Graph:
    """Zeng et al., GraphSAINT (2020): `adj_full.npz`, `feats.npy`, `class_map.json`; `role.json` must agree in size."""
    arrays = read_arrays(folder / "adj_full.npz")
    if not {"indices", "indptr"} <= set(arrays):
        got = ", ".join(arrays) or "none"
        raise InvalidInput(f"{folder / 'adj_full.npz'}: expected the keys indices and indptr, got {got}; get it again")
    edges = edges_of(arrays["indices"], arrays["indptr"], f"{folder / 'adj_full.npz'}")
    nodes = len(arrays["indptr"]) - 1
    classes = _read_json(folder / "class_map.json", Field(int, low=-1, high=1 << 31))
    roles = _read_json(folder / "role.json", Field(list))
    for name, count in (("class_map.json", len(classes)), ("role.json", sum(len(part) for part in roles.values()))):
        if count != nodes:
            raise InvalidInput(f"{folder / name}: expected an entry for each of the {nodes} nodes, got {count}")
    missing = next((node for node in range(nodes) if str(node) not in classes), None)
    if missing is not None:
        raise InvalidInput(f"{folder / 'class_map.json'}: expected the class of node {missing}, got none; get it again")
    labels = np.array([classes[str(node)] for node in range(nodes)], dtype=np.int64)
    rows = read_array(folder / "feats.npy") if features else np.zeros((nodes, 0), dtype=np.float32)
    return Graph.from_edges(edges, rows, labels=labels)


def _read_json(path: Path, items: Field) -> dict[str, Any]:
    """A JSON object whose values are all of one kind."""
    try:
        content = read_json(path, "get it again")
        Field(dict, items=items).check(content, "its content")
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}; get it again") from problem
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}; get it again") from problem
    return content
