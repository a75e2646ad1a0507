"""What `python -m benchmarks` measures: whole trainings, single methods, and growth stage by stage."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rival import pyg_epoch

import gvdn
from gvdn.graph import Graph, Split
from gvdn.training import recording
from gvdn.training.loop import train

Record = dict[str, Any]
METHODS = ("gcn", "rgcn", "grand", "dropedge", "gcn-jaccard", "gcn-svd", "mc-dropout", "mlp")
EDGES_PER_NODE, FEATURES, CLASSES = 5, 100, 10


def machine(device: str) -> Record:
    """What a time depends on besides the code."""
    on_gpu = torch.device(device).type == "cuda"
    name = torch.cuda.get_device_name(device) if on_gpu else platform.processor() or platform.machine()
    found = {"device": name, "threads": torch.get_num_threads(), "torch": torch.__version__}
    return found | ({"commit": os.environ["GVDN_COMMIT"]} if os.environ.get("GVDN_COMMIT") else {})


def seconds(work: Callable[[], Any], device: str) -> float:
    """Seconds of a call, until the GPU is done."""
    wait = torch.cuda.synchronize if torch.device(device).type == "cuda" else lambda: None
    wait()
    began = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - began


# ---- a whole training


def training(dataset: str, device: str, epochs: int, rounds: int) -> Record:
    """GVDN, two fifths of the epochs in `fit` and three in `recover`, beside as many of a plain GCN, in turn."""
    graph = gvdn.load_graph(dataset)
    split = gvdn.random_split(graph, seed=0)
    attack = gvdn.perturb(graph, "random-connections", split, seed=0)
    settings = {"epochs": epochs * 2 // 5, "recovery_epochs": epochs * 3 // 5, "trust": False, "device": device}
    spent: dict[str, list[float]] = {"fit": [], "recover": [], "pyg": []}
    for number in range(rounds + 1):  # the first is a warm-up
        model = gvdn.make_method("gvdn", dataset, **settings)
        found = {"fit": seconds(lambda: model.fit(graph, split, seed=0), device)}  # noqa: B023
        found["recover"] = seconds(lambda: model.recover(attack.graph), device)  # noqa: B023
        epoch = pyg_epoch(graph, split, 200, torch.device(device))
        found["pyg"] = seconds(lambda: [epoch() for _ in range(epochs)], device)  # noqa: B023
        for name, value in found.items() if number else ():
            spent[name].append(value)
    ours = [fit + recover for fit, recover in zip(spent["fit"], spent["recover"], strict=True)]
    return {
        "what": "training",
        "dataset": dataset,
        "epochs": epochs,
        "fit_s": round(statistics.median(spent["fit"]), 4),
        "recover_s": round(statistics.median(spent["recover"]), 4),
        "gvdn_s": round(statistics.median(ours), 4),
        "pyg_s": round(statistics.median(spent["pyg"]), 4),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, spent["pyg"], strict=True)), 3),
        **machine(device),
    }


def epoch(dataset: str, device: str, rounds: int) -> Record:
    """Single epochs of `fit` and of a plain GCN in turn, so that what else the machine does falls on both alike."""
    graph = gvdn.load_graph(dataset)
    split = gvdn.random_split(graph, seed=0)
    method = gvdn.make_method("gvdn", dataset, trust=False, device=device)
    return {"what": "epoch", "dataset": dataset, **_paired(method, graph, split, rounds), **machine(device)}


def _paired(method: Any, graph: Graph, split: Split, rounds: int) -> Record:
    """Milliseconds of an epoch of ours, as the loop runs it without recording, and of the plain GCN."""
    task, optimizer = method.training(graph, split, seed=0)
    theirs = pyg_epoch(graph, split, method.hidden, method.torch_device())
    ours_s: list[float] = []
    theirs_s: list[float] = []
    ticks = [0.0]

    def between(*_: Any) -> None:
        ours_s.append(_now(method.device) - ticks[0])
        theirs_s.append(seconds(theirs, method.device))
        ticks[0] = _now(method.device)

    ticks[0] = _now(method.device)
    train(task, optimizer, rounds + 2, seed=0, purpose="benchmark", callback=between, every_epoch=True)
    ratios = [a / b for a, b in zip(ours_s[2:], theirs_s[2:], strict=True)]
    return {
        "gvdn_ms": round(1e3 * statistics.median(ours_s[2:]), 2),
        "pyg_ms": round(1e3 * statistics.median(theirs_s[2:]), 2),
        "ratio": round(statistics.median(ratios), 3),
        "rounds": rounds,
    }


def _now(device: str) -> float:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


# ---- what recording gains, and whether it changes anything


def method(name: str, dataset: str, device: str, rounds: int) -> Record:
    """`fit` with epochs launched kernel by kernel, recorded, and recorded with sums in a fixed order, in turn."""
    graph = gvdn.load_graph(dataset)
    split = gvdn.random_split(graph, seed=0)
    ways = {"launched": (0, False), "recorded": (recording.LARGEST, False), "fixed_order": (recording.LARGEST, True)}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    fitted: dict[str, list[Any]] = {way: [] for way in ways}
    for _ in range(rounds + 1):  # the first is a warm-up
        for way, (largest, fixed) in ways.items():
            made = gvdn.make_method(name, dataset, device=device, **({"trust": False} if name == "gvdn" else {}))
            recording.LARGEST = largest
            torch.use_deterministic_algorithms(fixed)
            spent[way].append(seconds(lambda: made.fit(graph, split, seed=0), device))  # noqa: B023
            fitted[way].append(made)
    return {
        "what": "method",
        "method": name,
        "dataset": dataset,
        "epochs": made.rounds(),
        **{f"{way}_s": round(statistics.median(found[1:]), 4) for way, found in spent.items()},
        "same_bits": all(_same(fitted["fixed_order"][0], other) for other in fitted["fixed_order"][1:]),
        "validation": {way: round(found[0].outcome_.score, 4) for way, found in fitted.items()},
        **machine(device),
    }


def _same(a: Any, b: Any) -> bool:
    weights = (one.network_.state_dict().values() for one in (a, b))
    return all(torch.equal(mine, other) for mine, other in zip(*weights, strict=True))


# ---- growth


def generated(
    nodes: int, edges_per_node: int = EDGES_PER_NODE, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random links, and dense features in which each class has a column of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, nodes)
    edges = rng.integers(0, nodes, (edges_per_node * nodes, 2))
    X = rng.standard_normal((nodes, FEATURES), dtype=np.float32)
    X[np.arange(nodes), labels] += 2
    return edges[edges[:, 0] != edges[:, 1]], X, labels


def growth(nodes: int, device: str, hidden: int, rounds: int, edges_per_node: int, fit_only: bool) -> Record:
    """Every stage on a generated graph; meant for a process of its own, whose peak memory it returns."""
    warnings.simplefilter("ignore")
    recording.LARGEST = 0  # a recorded epoch cannot be timed alone
    on_gpu = torch.device(device).type == "cuda"
    edges, X, labels = generated(nodes, edges_per_node)
    stages: dict[str, float] = {}
    ticks: list[float] = []

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        kept: list[Any] = []
        stages[stage] = round(seconds(lambda: kept.append(work()), device), 4)
        return kept[0]

    def tick(*_: Any) -> None:
        ticks.append(_now(device))

    def epoch_s() -> float:
        """The median of the epochs since the last call."""
        found = float(statistics.median(np.diff(ticks)))
        ticks.clear()
        return round(found, 4)

    graph = timed("graph", lambda: Graph.from_edges(edges, X, labels=labels))
    del edges, X, labels
    timed("hash", lambda: graph.hash)
    split = timed("split", lambda: gvdn.random_split(graph, seed=0))
    made = gvdn.GVDN(hidden=hidden, epochs=rounds, recovery_epochs=rounds, trust=False, device=device)
    before = _host_peak()
    timed("fit", lambda: made.fit(graph, split, seed=0, callback=tick))
    found = {"epoch_s": epoch_s(), "fit_mib": _host_peak()}
    if on_gpu:
        found["gpu_fit_mib"] = _gpu_peak()
    if not fit_only:
        attack = timed("perturb", lambda: gvdn.perturb(graph, "random-connections", split, seed=0))
        healed = timed("recover", lambda: made.recover(attack.graph, callback=tick))
        found["recovery_epoch_s"] = epoch_s()
        timed("predict", lambda: healed.predict(attack.graph))
        timed("trust", made.baseline_.trust)
        with tempfile.TemporaryDirectory() as folder:
            timed("save", lambda: made.save(Path(folder) / "model"))
            timed("load", lambda: gvdn.GVDN.load(Path(folder) / "model", device=device))
    return {
        "what": "growth",
        "nodes": nodes,
        "edges": graph.num_edges,
        "features": FEATURES,
        "hidden": hidden,
        **found,
        "stages": stages,
        "peak_mib": _host_peak(),
        "peak_before_mib": before,
        **({"gpu_mib": _gpu_peak()} if on_gpu else {}),
        "floor": floor(graph, split, hidden, device),
        **machine(device),
    }


def _host_peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def _gpu_peak() -> int:
    return round(torch.cuda.max_memory_allocated() / 2**20)


# ---- the floor


def floor(graph: Graph, split: Split, hidden: int, device: str) -> Record:
    """The least that an epoch of `fit` needs: its multiplications at the rate of a matrix product of their shape, its
    bytes at the rate of a copy, and its random numbers at the rate of their generator, all measured here and now.

    Bytes: S X is read three times (forward, validation, backward); S X W is written, read and becomes its gradient;
    the noise is written, read and becomes the gradient of W_z; W_z is read three times; Adam reads and writes W_z and
    two moments.
    """
    n, d, h, k = graph.num_nodes, graph.num_features, hidden, graph.num_classes
    place = torch.device(device)
    flops = 2 * n * (d * 3 * h * 2 + d * 2 * h + 4 * h * k)
    moved = 4 * n * (3 * d + 3 * 3 * h + 4 * h + 3 * h + 6 * h)
    rows = min(n, 20_000 if place.type == "cpu" else 200_000)
    A, B, C = (
        torch.ones(rows, d, device=place),
        torch.ones(d, 3 * h, device=place),
        torch.empty(rows, 3 * h, device=place),
    )
    other = torch.empty_like(C)
    best = {name: min(seconds(work, device) for _ in range(5)) for name, work in (
        ("product", lambda: torch.mm(A, B, out=C)),
        ("copy", lambda: other.copy_(C)),
        ("noise", lambda: C.normal_()),
    )}  # fmt: skip
    found = {
        "flops": flops,
        "bytes": moved,
        "product_s": flops / (2 * rows * d * 3 * h) * best["product"],
        "memory_s": moved / (2 * C.numel() * 4) * best["copy"],
        "noise_s": n * h / C.numel() * best["noise"],
    }
    found["floor_s"] = found["product_s"] + found["memory_s"] + found["noise_s"]
    return {name: float(f"{value:.4g}") for name, value in found.items()}
