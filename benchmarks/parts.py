"""GVDN on parts: traffic and time for 1 to 4 workers beside the cost model, and one large graph from tables to answers.

    python benchmarks/parts.py workers                     (records appended to results/parts.jsonl)
    python benchmarks/parts.py rates --nodes 50000         (seconds of each kind of operation, for the cost model)
    python benchmarks/parts.py size --nodes 10000000       (10^7 nodes and 5 10^7 links; an hour on two cores)

The graph is generated: communities whose nodes come in random order, nine tenths of the links inside of them, features
that are the mean of the class and noise. `workers` starts processes that talk by gloo, each with one thread, and
counts the bytes that each sends in an epoch, the seconds of its processor and the seconds on the clock; `model` is what
`docs/cost-model.md` says of them. `size` runs the commands `gvdn partition`, `train`, `predict` one after another, the
training by two workers of a local Ray, and looks at the memory of every process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import nnls

from gvdn.parts import cost

RECORDS = Path(__file__).parent.parent / "results" / "parts.jsonl"
NETWORKS = (
    (16, 32, 8),
    (256, 32, 8),
    (32, 128, 8),
    (256, 128, 8),
    (32, 32, 2),
    (32, 32, 64),
    (16, 16, 2),
    (128, 64, 16),
)
"""Features, hidden and classes of the networks whose epochs give the seconds of each kind of operation."""
COMMUNITY = 500
"""Nodes of a community."""
INSIDE = 0.9
PIECE = 1 << 20
QUIET = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""One thread for each worker; glibc gives freed memory back at once, so that what is measured is what is needed."""


def write_graph(folder: Path, nodes: int, links: int, features: int, classes: int, seed: int = 0) -> None:
    """Tables of a graph of any size, written a piece at a time."""
    rng = np.random.default_rng(seed)
    number = max(nodes // COMMUNITY, 1)
    means = rng.normal(scale=0.5, size=(classes, features)).astype(np.float32)
    order = _mixed(nodes)
    names = [f"x{column}" for column in range(features)]
    types = [("id", pa.int64()), ("label", pa.int64()), *((name, pa.float32()) for name in names)]
    with pq.ParquetWriter(folder / "nodes.parquet", pa.schema(types)) as file:
        for start in range(0, nodes, PIECE):
            ids = np.arange(start, min(start + PIECE, nodes))
            labels = order[ids] % number % classes
            x = means[labels] + rng.standard_normal((len(ids), features), dtype=np.float32)
            file.write_table(pa.table([ids, labels, *x.T.copy()], schema=pa.schema(types)))
    inverse = np.argsort(order)
    ends = [("source", pa.int64()), ("target", pa.int64())]
    with pq.ParquetWriter(folder / "edges.parquet", pa.schema(ends)) as file:
        for start in range(0, links, PIECE):
            many = min(PIECE, links - start)
            group, ranks = rng.integers(number, size=many), nodes // number
            first = group + number * rng.integers(ranks, size=many)
            near = group + number * rng.integers(ranks, size=many)
            second = np.where(rng.random(many) < INSIDE, near, rng.integers(nodes, size=many))
            file.write_table(pa.table([inverse[first], inverse[second]], schema=pa.schema(ends)))


def _mixed(nodes: int) -> np.ndarray:
    """A permutation of the nodes, so that their order says nothing of the communities."""
    return np.random.default_rng(1).permutation(nodes)


# ---- traffic and time


def job(parts: Path, rank: int, workers: int, port: int, hidden: int, epochs: int) -> None:
    """In a process of its own: some epochs as one of the workers; the first prints what all measured."""
    import torch
    import torch.distributed as dist

    from gvdn.parts import jobs
    from gvdn.parts.group import Alone, Distributed
    from gvdn.parts.loop import Trainer

    torch.set_num_threads(1)
    group: Any = Alone()
    if workers > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)
        group = Distributed()
    numbers: list[dict[str, float]] = []
    step = Trainer.step

    def timed(self: Trainer) -> dict[str, float]:
        routes = self.objective.routes
        selected = sum(asked_of_others(site, routes.owner) for site in self.objective.sites)
        before = time.perf_counter(), time.process_time(), group.sent
        record = step(self)
        after = time.perf_counter(), time.process_time(), group.sent
        wall, cpu, sent = (b - a for a, b in zip(before, after, strict=True))
        halo = sum(len(rows) for (_, other), rows in routes.send.items() if routes.owner[other] != group.rank)
        cut = sum(cut_entries(site, routes.owner) for site in self.objective.sites)
        numbers.append({"wall": wall, "cpu": cpu, "sent": sent, "selected": selected, "halo": halo, "cut": cut})
        return record

    Trainer.step = timed  # type: ignore[method-assign]
    jobs.Fit(parts, parts.parent / "model", {"hidden": hidden, "epochs": epochs, "trust": False}, 0).run(group)
    kept = numbers[2:]  # the first has no rows to replace
    mine = {name: float(np.median([one[name] for one in kept])) for name in kept[0]}
    mine["least"] = min(one["cpu"] for one in kept)
    mine["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    every: list[Any] = [mine] if workers == 1 else [None] * workers
    if workers > 1:
        dist.all_gather_object(every, mine)
        dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(every))


def asked_of_others(site: Any, owner: list[int]) -> int:
    """Nodes of other workers' parts whose rows Algorithm 1 takes the mean of in a part."""
    if site.replacement is None:
        return 0
    columns = site.replacement.neighbour.unique().numpy()
    mine = owner[site.number]
    theirs = [piece for other, piece in site.part.halo.items() if owner[other] != mine]
    return sum(int(((columns >= piece.start) & (columns < piece.stop)).sum()) for piece in theirs)


def cut_entries(site: Any, owner: list[int]) -> int:
    """Links from a part to nodes of other workers."""
    theirs = np.zeros(site.part.links.shape[1], dtype=bool)
    for other, piece in site.part.halo.items():
        theirs[piece] = owner[other] != owner[site.number]
    return int(theirs[site.forward.forward_half.columns.numpy()].sum())


def measure_rates(options: argparse.Namespace, folder: Path) -> None:
    """One worker, one part, networks of several sizes: the seconds of each kind of operation, by least squares."""
    from gvdn.parts.partition import partition
    from gvdn.parts.source import source_of

    rows, spent = [], []
    for d, h, K in NETWORKS:
        where = folder / f"{d}-{h}-{K}"
        where.mkdir()
        write_graph(where, options.nodes, 5 * options.nodes, d, K)
        made = partition(source_of(str(where)), where / "parts", 4, partitioner="stream")
        (where / "model").mkdir()
        found = spawned(where / "parts", 1, h, options.epochs)[0]
        size = cost.Size(made.nodes, made.edges, d, h, K, made.parts, 0.0)
        rows.append(list(cost.operations(size, 1).values()))
        spent.append(found["least"])
        record(
            {
                "what": "rate",
                "nodes": made.nodes,
                "links": made.edges,
                "features": d,
                "hidden": h,
                "classes": K,
                "cpu_s": round(found["least"], 4),
            }
        )
    scaled = np.array(rows) / np.array(spent)[:, None]  # relative errors count alike
    rates = nnls(scaled, np.ones(len(spent)))[0]
    fitted = np.array(rows) @ rates
    names = cost.operations(size, 1)
    record(
        {"what": "rates", **dict(zip(names, (float(f"{one:.3g}") for one in rates), strict=True))}
        | {"worst_relative_error": round(float(np.abs(fitted / spent - 1).max()), 3)}
    )


def measure_workers(options: argparse.Namespace, folder: Path) -> None:
    from gvdn.parts.partition import partition
    from gvdn.parts.source import source_of

    write_graph(folder, options.nodes, 5 * options.nodes, options.features, options.classes)
    for partitioner in ("metis", "stream"):
        began = time.perf_counter()
        made = partition(source_of(str(folder)), folder / partitioner, 8, partitioner=partitioner)
        spent = time.perf_counter() - began
        told = {name: value for name, value in made.report().items() if name != "shares"}
        record({"what": "partition", "seconds": round(spent, 2)} | told)
    for workers in (1, 2, 3, 4):
        (folder / "model").mkdir(exist_ok=True)
        every = spawned(folder / "metis", workers, options.hidden, options.epochs)
        K, d, h = options.classes, options.features, options.hidden
        size = cost.Size(made.nodes, made.edges, d, h, K, made.parts, sum(one["cut"] for one in every) / 2 / made.edges)
        model = [cost.sent_bytes(size, workers, one["halo"], one["selected"]) for one in every]
        record(
            {
                "what": "epoch",
                "workers": workers,
                "nodes": made.nodes,
                "links": made.edges,
                "features": d,
                "hidden": h,
                "classes": K,
                "parts": made.parts,
                "cut_between_workers": round(size.cut, 5),
                "halo_model": round(cost.halo(size, workers)),
                "halo_between_workers": [int(one["halo"]) for one in every],
                "selected": [int(one["selected"]) for one in every],
                "bytes_sent": [int(one["sent"]) for one in every],
                "bytes_model": [round(one) for one in model],
                "wall_s": round(max(one["wall"] for one in every), 4),
                "cpu_s": [round(one["cpu"], 4) for one in every],
                "peak_mib": [round(one["peak_mib"]) for one in every],
            }
        )


def spawned(parts: Path, workers: int, hidden: int, epochs: int) -> list[dict[str, float]]:
    port = 20000 + os.getpid() % 20000 + workers
    words = [sys.executable, __file__, "job", str(parts), str(workers), str(port), str(hidden), str(epochs)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen([*words, str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
        for rank in range(workers)
    ]
    out = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        raise SystemExit("a worker failed, see above")
    return json.loads(out[0].splitlines()[-1])


# ---- one large graph


def measure_size(options: argparse.Namespace, folder: Path) -> None:
    began = time.perf_counter()
    write_graph(folder, options.nodes, 5 * options.nodes, options.features, options.classes)
    record({"what": "size: tables", "nodes": options.nodes, "links": 5 * options.nodes, "seconds": _since(began)})
    few = [
        "--set",
        "epochs=2",
        "--set",
        "trust=false",
        "--set",
        f"hidden={options.hidden}",
        "--engine",
        "ray",
        "--workers",
        "2",
    ]
    parts, where = str(folder / "parts"), str(folder)
    commands = {
        "partition": [
            "partition",
            where,
            "-o",
            parts,
            "--parts",
            str(options.parts),
            "--partitioner",
            "stream",
            "--json",
        ],
        "train": ["train", parts, "-o", str(folder / "model"), "--save-memory", "--json", *few],
        "predict": ["predict", str(folder / "model"), parts, "-o", str(folder / "answers"), "--json"],
    }
    commands["predict"] += ["--engine", "ray", "--workers", "2"]
    for name, words in commands.items():
        began = time.perf_counter()
        with Watched([sys.executable, "-m", "gvdn", *words]) as run:
            told = run.wait()
        shown = {key: told[key] for key in ("balance", "cut_share", "halo", "bytes_sent", "rows") if key in told}
        about = {"nodes": options.nodes, "links": 5 * options.nodes, "hidden": options.hidden, "parts": options.parts}
        record(
            {
                "what": f"size: {name}",
                **about,
                "seconds": _since(began),
                "peak_mib": run.peak,
                "workers_mib": run.workers,
            }
            | shown
        )


class Watched:
    """A command, and the most memory that it and each of its children had: of Ray's workers also the largest."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | QUIET)
        self.peak = self.workers = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watched:
        self.thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.ended.set()
        self.thread.join()

    def wait(self) -> dict[str, Any]:
        out = self.process.communicate()[0]
        if self.process.returncode:
            raise SystemExit(f"the command failed with exit code {self.process.returncode}")
        return json.loads(out)

    def _look(self) -> None:
        """Every second; of a worker what is its own: the pages of libraries that processes share do not count."""
        while not self.ended.wait(1.0):
            self.peak = max(self.peak, _own_mib(self.process.pid))
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    name = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if name.startswith(b"ray::RayTrainWorker"):
                    self.workers = max(self.workers, _own_mib(int(folder.name)))


def _own_mib(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 2**10 for line in lines if line.startswith("VmRSS")), 0)


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 1)


def record(content: dict[str, Any]) -> None:
    import torch

    line = json.dumps(content | {"torch": torch.__version__, "python": platform.python_version()})
    print(line, flush=True)
    with RECORDS.open("a") as file:
        file.write(line + "\n")


def main() -> None:
    if sys.argv[1:2] == ["job"]:
        parts, *numbers = sys.argv[2:]
        workers, port, hidden, epochs, rank = map(int, numbers)
        job(Path(parts), rank, workers, port, hidden, epochs)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["workers", "rates", "size"])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--classes", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--parts", type=int, default=32)
    parser.add_argument("--folder", type=Path, help="where tables and parts are put; a temporary folder if not given")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="gvdn-parts-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        {"workers": measure_workers, "rates": measure_rates, "size": measure_size}[options.what](options, folder)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
