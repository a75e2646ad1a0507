"""Load any graph: by a name of the catalogue, from a file, or from a folder."""

import dataclasses
import os
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from gvdn.data.catalogue import DATASETS, Dataset
from gvdn.data.generated import generate
from gvdn.data.published import find_published, read_ours
from gvdn.data.tables import find_tables, read_tables
from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph, read_npz, row_normalised, with_structural_features
from gvdn.registry import did_you_mean
from gvdn.seeds import generator

SIMULATED_FEATURES = 500
SIGNAL = 0.12
"""Scale of the class means of simulated features, in units of the noise: chosen so that the task is about as hard as
the published one with the same structure (accuracies near one half), not tuned to any method."""


def load_graph(
    name_or_path: str | Path,
    edges: str | Path | None = None,
    *,
    as_published: bool = False,
    perturbation: str = "",
    columns: Columns | None = None,
    kinds: Mapping[str, str] | None = None,
    relation: str | None = None,
) -> Graph:
    """Load a graph by its name in the catalogue, or from a folder of tables, an npz file or two tables.

    Args:
        name_or_path: a name of `gvdn.DATASETS`, or a path.
        edges: the table of edges, where the first argument is a table of nodes.
        as_published: whether the features of a named graph stay as released; otherwise they are divided by their row
            sum where the catalogue has `row_normalise`. The features of other graphs are never changed.
        perturbation: the name of the perturbation that the graph is for. Counts are read as present or absent where
            the catalogue has it under `binary_for`.
        columns: what became of the columns of an earlier table, such as `model.columns_`, to read tables alike.
        kinds, relation: see `Graph.from_tables`; for tables only.

    A graph that was published with splits or times has them as `graph.published`.
    A graph without features gets those of its links (`with_structural_features`); `graph.notes` says so.

    >>> load_graph("debian")
    Graph('debian': 4,809 nodes, 14,843 edges, 1,200 features, 9 classes)
    """
    path, given = Path(name_or_path), str(name_or_path)
    tables = None if edges is None else (path, Path(edges))
    if tables is None and path.is_dir() and not (path / "graph.npz").exists():
        tables = find_tables(path)
    if tables is not None:
        return read_tables(*tables, columns=columns, kinds=kinds, relation=relation)
    for option, value in (("column", kinds), ("relation", relation)):
        if value:
            raise InvalidInput(f"--{option} is for a graph of tables, got {given}; leave it out")
    if given in DATASETS and not path.exists():
        return _named(DATASETS[given], as_published, perturbation)
    if not path.exists():
        got = f"{given!r}: no such file or folder, and no dataset of that name"
        raise InvalidInput(f"expected a graph, got {got}{did_you_mean(given, list(DATASETS))}")
    if not path.is_dir() and path.suffix != ".npz":
        do = "a table of nodes needs its table of edges"
        raise InvalidInput(f"expected a folder, an npz file, or two tables, got only {path}; {do}")
    graph = read_npz(path / "graph.npz" if path.is_dir() else path)
    return graph if graph.num_features else with_structural_features(graph, columns)


def _named(dataset: Dataset, as_published: bool, perturbation: str) -> Graph:
    graph = dataclasses.replace(_raw(dataset), name=dataset.name, protocol=dataset.perturbations)
    if perturbation in dataset.binary_for:
        graph = dataclasses.replace(graph, features=sp.csr_array(graph.features != 0, dtype=np.float32))
    if dataset.row_normalise and not as_published:
        graph = dataclasses.replace(graph, features=row_normalised(graph.features))
    return graph


def _raw(dataset: Dataset) -> Graph:
    if dataset.source == "bundled":
        with as_file(files("gvdn.data") / "bundled" / f"{dataset.stem}.npz") as path:
            return read_npz(path)
    if dataset.source == "generated":
        return generate(dataset.stem)
    found = _in_data_folder(dataset)
    if found is None:
        from gvdn.data.download import download

        found = download(dataset)
    return _with_simulated_features(found, dataset.name) if dataset.simulated_features else found


def _with_simulated_features(graph: Graph, name: str) -> Graph:
    """The same structure and labels with class-dependent Gaussian features, drawn by the dataset's name."""
    rng = generator(0, "simulated-features", name)
    means = rng.normal(scale=SIGNAL, size=(graph.num_classes, SIMULATED_FEATURES)).astype(np.float32)
    noise = rng.standard_normal((graph.num_nodes, SIMULATED_FEATURES), dtype=np.float32)
    return dataclasses.replace(graph, features=means[graph.labels] + noise, feature_names=())


def _in_data_folder(dataset: Dataset) -> Graph | None:
    """The graph in $GVDN_DATA, in our npz layout or as published; None where it is not there."""
    given = os.environ.get("GVDN_DATA")
    if not given:
        return None
    folder = Path(given)
    if not folder.is_dir():
        raise InvalidInput(f"expected $GVDN_DATA to be a folder, got {given}; unset it or point it at the graphs")
    ours = folder / f"{dataset.name}.npz"
    return read_ours(ours, dataset) if ours.exists() else find_published(dataset, folder)
