"""What the features of links are worth: accuracy on graphs whose own features are taken away.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/structure.py [--datasets debian] [--seeds 0] [--show]
                                                                              (records in results/structure.jsonl)

A plain GCN is fitted on a graph with the features that `VARIANTS` names: on the whole graph, and without a tenth of the
test nodes, which arrive later, with their links as they are or with five wrong ones (the mode "new" of the studies).
The features of the later graph are computed from its own links. GVDN is asked with the default, with and without
recovery.
A killed run goes on with the same command; `--show` prints a table of the records.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gvdn
from gvdn.bench.origin import origin
from gvdn.graph import Columns, Graph, Split, random_split, with_structural_features
from gvdn.graph.tables.columns import Structure
from gvdn.methods.trusted import Trusted

RECORDS = Path(__file__).parent.parent / "results" / "structure.jsonl"
OWN = "own features"
VARIANTS: dict[str, tuple[int, int] | None] = {
    OWN: None,
    "degree and clustering": (0, 0),
    "64 codes, 6 steps": (64, 6),
    "128 codes, 2 steps": (128, 2),
    "128 codes, 4 steps": (128, 4),
    "128 codes, 6 steps": (128, 6),
    "128 codes, 8 steps": (128, 8),
    "256 codes, 6 steps": (256, 6),
}
"""Numbers of codes and steps; the default is 128 and 6."""
DEFAULT = "128 codes, 6 steps"
ASKED = ("clean", "new, clean", "new, wrong links", "new, wrong links, trusted", "new, wrong links, recovered")


def with_features(graph: Graph, variant: str, like: Columns | None = None) -> Graph:
    """The graph with the features of a variant, read like an earlier one."""
    how = VARIANTS[variant]
    if how is None:
        return graph
    bare = dataclasses.replace(graph, features=np.zeros((graph.num_nodes, 0)), feature_names=(), columns=None)
    degree = np.log1p(graph.degrees)
    return with_structural_features(bare, like or Columns(structure=Structure(degree.mean(), degree.std(), *how)))


def ask(dataset: str, method: str, variant: str, seed: int, trusting: bool) -> dict[str, float]:
    """Accuracy of one method on all that is asked."""
    full = gvdn.load_graph(dataset)
    split = random_split(full, seed=seed)
    attack = gvdn.perturb(full, "wrong-links", split, seed=seed)
    victims, whole = attack.victims, with_features(full, variant)
    found = {"clean": gvdn.make_method(method).fit(whole, split, seed=seed).score(whole, split)}
    before = with_features(full.subgraph(np.delete(np.arange(full.num_nodes), victims)), variant)
    parts = (before.locate(full.ids[part]) for part in (split.train, split.val, split.test))
    model: Any = gvdn.make_method(method).fit(before, Split(*(part[part >= 0] for part in parts)), seed=seed)
    later, hurt = (with_features(graph, variant, before.columns) for graph in (full, attack.graph))
    found |= {"new, clean": model.score(later, victims), "new, wrong links": model.score(hurt, victims)}
    if trusting and method == "gcn":
        answers = Trusted(model, before).predict_proba(hurt)[victims].argmax(axis=1)
        found["new, wrong links, trusted"] = float((answers == full.labels[victims]).mean())
    elif trusting:
        found["new, wrong links, recovered"] = model.recover(hurt).score(hurt, victims)
    return {name: round(value, 5) for name, value in found.items()}


def cells(datasets: list[str], seeds: list[int]) -> Iterator[tuple[str, str, str, int]]:
    for dataset in datasets:
        for seed in seeds:
            for variant in VARIANTS:
                yield dataset, "gcn", variant, seed
            yield dataset, "gvdn", DEFAULT, seed


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def show() -> None:
    found = defaultdict(list)
    for record in read():
        found[record["dataset"], record["method"], record["variant"]].append(record["accuracy"])
    for (dataset, method, variant), every in found.items():
        means = {name: 100 * np.mean([one[name] for one in every]) for name in ASKED if name in every[0]}
        said = ", ".join(f"{name} {mean:.1f}" for name, mean in means.items())
        print(f"{dataset}, {method}, {variant} ({len(every)} seeds): {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora", "debian"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if given.show:
        show()
        return
    there = {(one["dataset"], one["method"], one["variant"], one["seed"]) for one in read()}
    for cell in cells(given.datasets, given.seeds):
        if cell in there:
            continue
        began = time.perf_counter()
        named = dict(zip(("dataset", "method", "variant", "seed"), cell, strict=True))
        accuracy = ask(*cell, trusting=cell[2] in (OWN, DEFAULT))
        record = named | {"accuracy": accuracy, "seconds": round(time.perf_counter() - began, 1)} | origin("cpu")
        with RECORDS.open("a") as file:
            file.write(json.dumps(record, sort_keys=True) + "\n")
        print(record["dataset"], record["method"], record["variant"], record["seed"], accuracy, flush=True)


if __name__ == "__main__":
    main()
