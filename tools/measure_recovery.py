"""What GVDN reaches on the real graphs: one JSON line per measurement, with seed, settings, versions and device.

    GVDN_DATA=… python tools/measure_recovery.py results/recovery.jsonl --device cuda
    python tools/measure_recovery.py --table results/recovery.jsonl

Split, victims and weights are drawn anew for each seed. Accuracy and entropy are measured on victims only; a row that
is there already is not measured again, so a stopped run goes on.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gvdn
from gvdn.data import DATASETS
from gvdn.experiments.measure import surroundings
from gvdn.methods.gnn import GNN
from gvdn.methods.gvdn import GVDN
from gvdn.methods.memory import guarded
from gvdn.methods.rgcn import RGCN
from gvdn.metrics import accuracy, expected_calibration_error, normalised_entropy

REAL = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
Row = tuple[str, Callable[[], tuple[np.ndarray, np.ndarray]]]


def rows(name: str, seed: int, device: str) -> Iterator[Row]:
    """Name of each measurement and a function that gives probabilities and the nodes they are scored on."""
    graph = gvdn.load_graph(name)
    split = gvdn.random_split(graph, seed=seed)
    attack = gvdn.perturb(graph, "random-connections", split, seed=seed, victim_fraction=DATASETS[name].victim_fraction)
    hurt, victims = attack.graph, attack.victims
    hidden = np.sort(np.random.default_rng(seed).permutation(victims)[: len(victims) // 2])
    known = np.delete(graph.ids, hidden)
    model = GVDN.preset(name, device=device).fit(graph, split, seed=seed)
    plain = model.with_settings(guard=False, evidence_floor=0.0)
    calm = guarded(hurt, model.memory_.longest_row)

    yield "clean, all test nodes", lambda: (model.predict_proba(graph), split.test)
    yield "clean", lambda: (model.predict_proba(graph), victims)
    yield "perturbed", lambda: (model.predict_proba(hurt), victims)
    yield "guard alone", lambda: (model.predict_proba(calm), victims)
    yield "recovered", lambda: (model.recover(hurt).predict_proba(hurt), victims)
    yield "recovered, no additions", lambda: (plain.recover(hurt).predict_proba(hurt), victims)
    yield "recovered, with labels", lambda: (model.recover(hurt, labels=True).predict_proba(hurt), victims)
    yield "clean, hidden half", lambda: (model.predict_proba(graph), hidden)
    yield "unseen", lambda: (model.recover(hurt, known=known).predict_proba(hurt), hidden)
    yield "unseen, no additions", lambda: (plain.recover(hurt, known=known).predict_proba(hurt), hidden)
    for variant in ("links-only", "literal"):
        sparse = gvdn.perturb(graph, "information-sparsity", split, seed=seed, variant=variant).graph
        yield f"{variant}, perturbed", lambda g=sparse: (model.predict_proba(g), split.test)
        yield f"{variant}, recovered", lambda g=sparse: (model.recover(g).predict_proba(g), split.test)
        yield f"{variant}, no additions", lambda g=sparse: (plain.recover(g).predict_proba(g), split.test)
    for tag, make in {"gcn": GNN(device=device), "rgcn": RGCN(128, device=device)}.items():
        yield f"{tag}, trained anew", lambda m=make: (m.fit(hurt, split, seed=seed).predict_proba(hurt), victims)
        yield (
            f"{tag}, trained anew, guarded",
            lambda m=make: (m.fit(calm, split, seed=seed).predict_proba(calm), victims),
        )
    yield "gcn, met afterwards", lambda: (GNN(device=device).fit(graph, split, seed=seed).predict_proba(hurt), victims)
    paper = cache(lambda: GVDN.preset(name, paper=True, device=device).fit(graph, split, seed=seed))
    yield "paper's settings, clean", lambda: (paper().predict_proba(graph), victims)
    yield "paper's settings, perturbed", lambda: (paper().predict_proba(hurt), victims)
    yield "paper's settings, recovered", lambda: (paper().recover(hurt).predict_proba(hurt), victims)


def measure(path: Path, datasets: list[str], seeds: list[int], device: str) -> None:
    done = {(r["dataset"], r["seed"], r["what"]) for r in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    about = surroundings(device)
    for name in datasets:
        labels = gvdn.load_graph(name).labels
        settings = dataclasses.asdict(GVDN.preset(name))
        for seed in seeds:
            for what, run in rows(name, seed, device):
                if (name, seed, what) in done:
                    continue
                began = time.perf_counter()
                probs, nodes = run()
                row = {
                    "dataset": name,
                    "seed": seed,
                    "what": what,
                    "accuracy": round(accuracy(probs[nodes], labels[nodes]), 5),
                    "entropy": round(normalised_entropy(probs[nodes]), 5),
                    "ece": round(expected_calibration_error(probs[nodes], labels[nodes]), 5),
                    "nodes": len(nodes),
                    "seconds": round(time.perf_counter() - began, 2),
                }
                with path.open("a") as file:
                    file.write(json.dumps(row | about | ({"settings": settings} if what == "clean" else {})) + "\n")
            print(f"{name} seed {seed}", flush=True)


def table(path: Path) -> None:
    """Means in per cent over the seeds: accuracy, and entropy behind the stroke."""
    cells: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in read(path):
        cells[row["what"]][row["dataset"]].append((100 * row["accuracy"], 100 * row["entropy"]))
    datasets = [name for name in (*REAL, "debian") if any(name in cells[what] for what in cells)]
    print("| random connections at 1 % unless said | " + " | ".join(datasets) + " |")
    print("|---" * (len(datasets) + 1) + "|")
    for what, by_dataset in cells.items():
        shown = []
        for name in datasets:
            numbers = np.array(by_dataset[name]).reshape(-1, 2)
            mean, spread = numbers.mean(axis=0), numbers[:, 0].std(ddof=1) if len(numbers) > 1 else float("nan")
            shown.append(f"{mean[0]:.1f} ± {spread:.1f} / {mean[1]:.0f}" if len(numbers) else "–")
        print(f"| {what} | " + " | ".join(shown) + " |")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--table", action="store_true", help="print the means of the records instead of measuring")
    parser.add_argument("--datasets", nargs="+", default=list(REAL))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.table:
        table(options.records)
    else:
        measure(options.records, options.datasets, options.seeds, options.device)


if __name__ == "__main__":
    main()
