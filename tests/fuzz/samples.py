"""Valid inputs of every kind, small, made once before the first case."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import pickle
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from fuzz.mutate_bytes import Files
from fuzz.mutate_tables import parquet_of
from small_published import arxiv_archive, arxiv_files, platonov_arrays

from gvdn.data import load_graph, write_tables
from gvdn.graph import Columns, Graph, Published, random_split, write_npz
from gvdn.methods.contract import METHODS
from gvdn.methods.whitebox import WhiteBox
from gvdn.parts.group import Alone
from gvdn.parts.jobs import Fit
from gvdn.parts.partition import partition
from gvdn.parts.prepare import Shares
from gvdn.parts.source import GraphSource
from gvdn.perturbations import perturb, save_receipt
from gvdn.study import Cell, Mode, Record, Scores
from gvdn.study.store import as_line

NODES = 24


def sparse_graph() -> Graph:
    """A ring with chords: sparse features, text ids, names for everything."""
    edges = np.array([(node, (node + step) % NODES) for node in range(NODES) for step in (1, 2)])
    labels = np.arange(NODES) * 3 // NODES
    features = np.random.default_rng(0).random((NODES, 5)).astype(np.float32)
    features[np.arange(NODES), labels] += 1
    features[features < 0.6] = 0
    return Graph.from_edges(
        edges,
        sp.csr_array(features),
        labels=labels,
        ids=np.array([f"n{node:02d}" for node in range(NODES)]),
        class_names=("a", "b", "c"),
        feature_names=tuple("vwxyz"),
        name="ring",
    )


def dense_graph() -> Graph:
    """The same with dense features, numbers as ids, an unlabelled node and no names."""
    graph = sparse_graph()
    labels = graph.labels.copy()
    labels[3] = -1
    return Graph(graph.adjacency, graph.dense_features(), labels=labels, ids=np.arange(NODES) * 7 + 1, name="dense")


GRAPH = sparse_graph()
SPLIT = random_split(GRAPH, seed=0, train=0.4, val=0.2)
BINARY = dataclasses.replace(GRAPH, features=sp.csr_array(GRAPH.features != 0, dtype=np.float32))
"""For attacks that flip words."""


def folder_files(write: Callable[[Path], None]) -> Files:
    """The files that something writes into a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "made"
        folder.mkdir()
        write(folder)
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def graph_files() -> list[Files]:
    bare = Graph(GRAPH.adjacency, np.zeros((NODES, 0)), name="bare")
    weights = np.linspace(0.5, 2, GRAPH.num_edges)
    weighted = Graph.from_edges(
        GRAPH.edges, GRAPH.features, weights=weights, labels=GRAPH.labels, columns=rich_columns()
    )
    parts = np.stack([np.arange(NODES) % 4, (np.arange(NODES) + 1) % 4], axis=1)
    dated = dataclasses.replace(GRAPH, published=Published(GRAPH.ids, parts, np.arange(NODES) // 3 + 2000))
    graphs = [GRAPH, dense_graph(), bare, weighted, dated]
    return [folder_files(lambda folder, one=one: write_npz(one, folder / "graph.npz")) for one in graphs]


def table_files() -> list[Files]:
    nodes = ["id,label,x,y", *(f"p{n:02d},{'left' if n < 10 else 'right'},{n % 3},{n / 4}" for n in range(20))]
    edges = ["source,target", *(f"p{a:02d},p{(a + step) % 20:02d}" for a in range(20) for step in (1, 2))]
    numbered = ["id,label,x", *(f"{n},{n % 2},{n % 5}" for n in range(12))]
    between = ["source,target", *(f"{a},{(a + 1) % 12}" for a in range(12))]
    ids = ["id", "p01", "p02", "p07"]
    split = ["id,part", *(f"p{n:02d},{('train', 'val', 'test')[n % 3]}" for n in range(20))]
    text = {"nodes.csv": nodes, "edges.csv": edges, "ids.csv": ids, "split.csv": split}
    named: Files = {name: ("\n".join(lines) + "\n").encode() for name, lines in text.items()}
    few = {
        "nodes.csv": numbered,
        "edges.csv": between,
        "ids.csv": ["id", "3", "4"],
        "split.csv": ["id,part", "1,train", "2,val"],
    }
    plain: Files = {name: ("\n".join(lines) + "\n").encode() for name, lines in few.items()}
    zipped = {f"{name}.gz" if name in ("nodes.csv", "edges.csv") else name: data for name, data in named.items()}
    packed: Files = {
        name: gzip.compress(data, mtime=0) if name.endswith(".gz") else data for name, data in zipped.items()
    }
    return [named, plain, packed, _rich_tables(), {"ids.csv": b"id\nn01\n", **_written_tables()}]


def _rich_tables() -> Files:
    """Every kind of column, weights and relations."""
    header = "id,label,age,city,joined,vip,bio,price"
    nodes = [
        f"p{n:02d},{'ab'[n % 2]},{n if n != 4 else 'N/A'},{('Rome', 'Oslo', '')[n % 3]},2024-01-{n + 1:02d},"
        f"{('yes', 'no')[n % 2]},text {n},{n / 8:.3f}".replace("0.125", '"0,125"')
        for n in range(20)
    ]
    edges = [f"p{n:02d},p{(n + 1) % 20:02d},{n + 0.5},{('pays', 'knows')[n % 2]}" for n in range(20)]
    split = ["id,part", *(f"p{n:02d},{('train', 'val', 'test')[n % 3]}" for n in range(20))]
    text = {
        "nodes.csv": [header, *nodes],
        "edges.csv": ["source,target,weight,relation", *edges],
        "ids.csv": ["id", "p01"],
        "split.csv": split,
    }
    return {name: ("\n".join(lines) + "\n").encode() for name, lines in text.items()}


def rich_columns() -> Columns:
    """What is learned of the columns of the rich table."""
    with tempfile.TemporaryDirectory() as name:
        for file, content in _rich_tables().items():
            (Path(name) / file).write_bytes(content if isinstance(content, bytes) else b"")
        columns = load_graph(name).columns
    assert columns is not None
    return columns


def _written_tables() -> Files:
    return folder_files(lambda folder: write_tables(GRAPH, folder))


def parquet_files() -> list[Files]:
    def made(files: Files) -> Files:
        names = ("nodes", "edges", "ids")
        return {f"{name}.parquet": parquet_of(files[f"{name}.csv"]) for name in names}

    return [made(files) for files in (*table_files()[:2], _rich_tables())]


def receipt_files() -> list[Files]:
    """Receipts of the sparse graph: links, features, labels, and new nodes."""
    links = perturb(GRAPH, "random-connections", SPLIT, seed=0, victim_fraction=0.3).receipt
    sparse = perturb(GRAPH, "information-sparsity", SPLIT, seed=0, variant="literal").receipt
    labels = perturb(GRAPH, "label-noise", SPLIT, seed=0).receipt
    nodes = perturb(GRAPH, "node-injection", SPLIT, seed=0, victim_fraction=0.3).receipt
    every = (links, sparse, labels, nodes)
    return [folder_files(lambda folder, one=one: save_receipt(one, folder)) for one in every]


def small(name: str, **changes: Any) -> Any:
    sweeps = {"sweeps": 4, "warm_up": 1, "retrain_every": 2, "retrain_epochs": 2}
    more: dict[str, dict[str, Any]] = {
        "gvdn": {"recovery_epochs": 2},
        "graphss": sweeps,
        "mc-dropout": {"samples": 3},
    }
    return METHODS[name](**({"hidden": 4, "epochs": 22} | more.get(name, {}) | changes))


def model_files() -> list[Files]:
    def made(name: str) -> Files:
        model = small(name).fit(GRAPH, SPLIT, seed=0)
        return folder_files(lambda folder: model.save(folder))

    return [made(name) for name in ("gvdn", "graphss", "gcn", "mc-dropout")]


def parts_files() -> Files:
    """A graph in two parts and a model that was trained on them, in one flat folder: see `laid_out`."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            parts, model = Path(scratch) / "parts", Path(scratch) / "model"
            partition(GraphSource(GRAPH), parts, 2, partitioner="stream")
            model.mkdir()
            Fit(parts, model, {"hidden": 3, "epochs": 2, "dropout": 0.0}, 0, Shares(train=0.5)).run(Alone())
            (model / "result.json").unlink()
            for path in [*parts.rglob("*.*"), *model.iterdir()]:
                if path.is_file():
                    (folder / flat_name(path.relative_to(scratch))).write_bytes(path.read_bytes())

    return folder_files(make)


def flat_name(path: Path) -> str:
    """The name of a file of parts or model without folders."""
    number = path.parent.name.removeprefix("part=")
    return f"{path.stem}-{number}{path.suffix}" if path.suffix == ".parquet" else path.name


def laid_out(folder: Path) -> tuple[Path, Path]:
    """The folders of parts and model, from flat names."""
    parts, model = folder / "parts", folder / "model"
    for path in sorted(folder.iterdir()):
        kind, _, number = path.stem.partition("-")
        if path.suffix == ".parquet":
            target = parts / kind / f"part={number}" / f"{kind}.parquet"
        else:
            target = (parts if path.name == "manifest.json" else model) / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    return parts, model


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped, with the file it left, and how it goes on."""

    files: Files
    go_on: Callable[[Path], Any]


class Stop(Exception):
    """Raised where the run is to be stopped."""


def stopped_at(step: int) -> Callable[..., None]:
    def stop(now: int, _: Any) -> None:
        if now >= step:
            raise Stop

    return stop


def left_by(name: str, work: Callable[..., Any], **how: Any) -> Files:
    """The file that a run leaves that is stopped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            work(resume=path, **how)
        except Stop:
            return {name: path.read_bytes()}
    raise AssertionError("the run was not stopped")


def stopped_trainings() -> list[Stopped]:
    """Trainings of two methods and a recovery, stopped two epochs before their end; the file is of epoch 20."""

    def training(name: str) -> Stopped:
        def work(**how: Any) -> Any:
            return small(name).fit(GRAPH, SPLIT, seed=0, **how)

        files = left_by("run.progress.safetensors", work, callback=stopped_at(21))
        return Stopped(files, lambda path: work(resume=path))

    gvdn = small("gvdn", recovery_epochs=22, trust=False).fit(GRAPH, SPLIT, seed=0)

    def recovery(**how: Any) -> Any:
        return gvdn.recover(GRAPH, **how)

    files = left_by("run.progress.safetensors", recovery, callback=stopped_at(21))
    return [training("gcn"), training("gvdn"), Stopped(files, lambda path: recovery(resume=path))]


def stopped_attack() -> Stopped:
    """A nettack on twelve victims, stopped after the tenth."""
    surrogate = WhiteBox(small("gcn", linear=True).fit(BINARY, SPLIT, seed=0))
    how = {"surrogate": surrogate, "victims": np.arange(12), "link_flips": 1, "feature_flips": 1}

    def work(**more: Any) -> Any:
        return perturb(BINARY, "nettack", SPLIT, seed=0, **how, **more)

    files = left_by("run.progress.json", work, progress=stopped_at(10))
    return Stopped(files, lambda path: work(resume=path))


SPEC = {
    "title": "Mine",
    "about": "A spec of one's own.",
    "datasets": ["mine", "debian"],
    "seeds": [0, 1],
    "methods": ["gvdn", "gcn"],
    "common": {"modes": ["evasion"], "perturbation": "random-connections"},
    "row": [
        {"method": "gvdn", "label": "a row", "modes": ["recovered", "recovered, withheld"], "settings": {"epochs": 3}},
        {"method": "gcn", "perturbation": "none", "modes": ["clean"], "datasets": ["mine"], "split": {"train": 0.2}},
        {
            "method": "gvdn",
            "modes": ["recovered"],
            "perturbation_settings": {"rate": 0.02},
            "sweep": {"setting": "gamma_min", "values": [0.5, 0.9]},
        },
    ],
    "published": {"mine": {"gvdn": [82.0, 1.5]}},
}


def record_lines() -> bytes:
    scores = Scores(accuracy=0.8, entropy=0.3, ece=0.05, brier=0.4, nodes=10)
    cell = Cell("mine", "gvdn", 0, settings={"epochs": 3})
    measured = {
        "scores": scores,
        "clean": scores,
        "settings": {"hidden": 8, "device": "cpu"},
        "graph": "0123456789ab",
        "epoch": 3,
        "validation": 0.7,
        "seconds": {"fit": 1.0, "recover": 0.5},
        "peak_mib": 100.0,
        "device": "cpu, 1 threads",
        "gvdn": "0.1.0",
        "torch": "2.0",
        "python": "3.11.7",
        "commit": "abc1234",
    }
    plane = {
        "ids": ["a"],
        "classes": [0],
        "victims": [1],
        "class_names": ["A"],
        "states": {"clean": {"xy": [[0.0, 1.0]], "answers": [0]}},
    }
    losses = {"fit": {"epochs": [1, 2], "ce": [1.0, 0.5]}}
    records = [
        Record(cell=cell, mode=Mode.RECOVERED, **measured),
        Record(cell=cell, mode=Mode.MAPPED, **measured, map=plane, separation={"clean": 0.1}),
        Record(cell=cell, mode=Mode.WITH_LOSSES, **measured, losses=losses),
        Record(cell=cell, mode=Mode.STREAMED, **measured, seconds_each=0.2),
        Record(cell=Cell("mine", "gcn", 1, perturbation="none"), mode=Mode.CLEAN, error="ValueError: no"),
        Record(cell=Cell("mine", "", 0), mode=Mode.COUNTS, counts={"nodes": 3, "edges": 2}),
    ]
    return "".join(map(as_line, records)).encode()


def planetoid_files() -> Files:
    """600 nodes, since torch-geometric's reader takes 500 for validation."""
    known = np.zeros((598, 2))
    known[:, 0] = 1
    parts = {
        "x": sp.csr_matrix(known[:1]),
        "tx": sp.csr_matrix(np.array([[0, 3.0], [2.0, 0]])),
        "allx": sp.csr_matrix(known),
        "y": known[:1].astype(int),
        "ty": np.array([[0, 1], [1, 0]]),
        "ally": known.astype(int),
        "graph": defaultdict(list, {0: [1, 598], 1: [0], 598: [0], 599: [599]}),
    }
    files: Files = {f"ind.cora.{part}": pickle.dumps(content) for part, content in parts.items()}
    return files | {"ind.cora.test.index": b"599\n598\n"}


def benchmark_files() -> Files:
    features = sp.csr_array(GRAPH.features)
    file = io.BytesIO()
    np.savez(
        file,
        adj_data=np.ones(GRAPH.adjacency.nnz),
        adj_indices=GRAPH.adjacency.indices,
        adj_indptr=GRAPH.adjacency.indptr,
        adj_shape=np.array([NODES, NODES]),
        attr_data=features.data,
        attr_indices=features.indices,
        attr_indptr=features.indptr,
        attr_shape=np.array(features.shape),
        labels=GRAPH.labels,
    )
    return {"ms_academic_cs.npz": file.getvalue()}


def graphsaint_files() -> Files:
    edges, dense = io.BytesIO(), io.BytesIO()
    np.savez(
        edges,
        data=np.ones(GRAPH.adjacency.nnz, bool),
        indices=GRAPH.adjacency.indices,
        indptr=GRAPH.adjacency.indptr,
        shape=np.array([NODES, NODES]),
    )
    np.save(dense, GRAPH.dense_features().astype(np.float64))
    classes = {str(node): int(label) for node, label in enumerate(GRAPH.labels)}
    roles = {"tr": list(range(10)), "va": list(range(10, 15)), "te": list(range(15, NODES))}
    return {
        "adj_full.npz": edges.getvalue(),
        "feats.npy": dense.getvalue(),
        "class_map.json": json.dumps(classes).encode(),
        "role.json": json.dumps(roles).encode(),
    }


def ogb_files() -> Files:
    """The files that its archive has in folders, in one flat folder: see `ogb_laid_out`."""
    return {name.replace("/", "~"): content for name, content in arxiv_files().items()}


def ogb_laid_out(folder: Path) -> Path:
    """The folder of these files, from flat names."""
    for path in sorted(folder.iterdir()):
        target = folder / "ogbn_arxiv" / path.name.replace("~", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    return folder / "ogbn_arxiv"


def ogb_archives() -> Files:
    return {"arxiv.zip": arxiv_archive()}


def platonov_files() -> Files:
    file = io.BytesIO()
    np.savez(file, **platonov_arrays())
    return {"minesweeper.npz": file.getvalue()}
