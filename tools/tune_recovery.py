"""Choose GVDN's settings per dataset on validation data alone; one JSON line per run.

    python tools/tune_recovery.py results/tuning-fit.jsonl --stage fit --device cuda

The validation nodes are cut in two: one half chooses the epoch, the other half holds the victims of a simulated
attack with a seed of its own. Test labels are never read. Seeds are 100 and up, the reported ones are 0 to 4.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gvdn
from gvdn.data import DATASETS
from gvdn.experiments import protocol
from gvdn.graph import Graph, Split
from gvdn.methods.gnn import GNN
from gvdn.methods.gvdn import GVDN
from gvdn.methods.memory import guarded
from gvdn.methods.recovery import PSEUDO_LABELS
from gvdn.methods.rgcn import RGCN
from gvdn.metrics import accuracy, normalised_entropy

REAL = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
GAMMA_MIN = {"cora": 0.6, "citeseer": 0.98, "pubmed": 0.99, "amazon-photo": 0.84, "coauthor-cs": 0.96, "debian": 0.9}
FITS = {
    f"dropout {dropout}, lr {rate}, decay {decay}": {
        "dropout": dropout,
        "learning_rate": rate,
        "weight_decay": decay,
    }
    for dropout, rate, decay in [
        (0.5, 1e-2, 5e-4),
        (0.7, 1e-2, 5e-4),
        (0.8, 1e-2, 5e-4),
        (0.5, 3e-3, 5e-4),
        (0.7, 3e-3, 5e-4),
        (0.8, 3e-3, 5e-4),
        (0.7, 1e-2, 1e-4),
        (0.7, 3e-3, 1e-4),
        (0.7, 1e-2, 1e-3),
        (0.5, 1e-2, 1e-4),
        (0.0, 1e-2, 0.0),
    ]
} | {
    "dropout 0.7, lr 0.01, decay 0.0005, kl and df 0.1": {"dropout": 0.7, "lambda_kl": 0.1, "lambda_df": 0.1},
    "dropout 0.7, lr 0.003, decay 0.0005, kl and df 0.1": {
        "dropout": 0.7,
        "learning_rate": 3e-3,
        "lambda_kl": 0.1,
        "lambda_df": 0.1,
    },
    "dropout 0.7, lr 0.01, decay 0.0005, 400 epochs": {"dropout": 0.7, "epochs": 400},
}
ALL = ("recovered", "unseen", "labels")
RECOVERIES = {
    "lr 0.003": (ALL, {}),
    "lr 0.001": (ALL, {"recovery_learning_rate": 1e-3}),
    "lr 0.003, no guard": (ALL[:2], {"guard": False}),
}


ATTACKS = {"random-connections": 0.7, "nettack": 0.3, "prbcd": 0.3}
"""Perturbations -> the share of the candidates that are victims."""


def tuning_split(graph: Graph, seed: int) -> tuple[Split, np.ndarray]:
    """The split with half of its validation nodes, and the other half as candidates for victims."""
    split = gvdn.random_split(graph, seed=seed)
    shuffled = np.random.default_rng(seed).permutation(split.val)
    half = len(shuffled) // 2
    return Split(split.train, shuffled[:half], split.test), np.sort(shuffled[half:])


def run(name: str, seed: int, device: str, stage: str, write: Callable[[dict[str, object]], None]) -> None:
    if stage == "pseudo":
        for kind in ATTACKS:
            pseudo_labels(name, kind, seed, device, write)
        return
    graph = gvdn.load_graph(name)
    split, pool = tuning_split(graph, seed)
    fraction = 0.99 if DATASETS[name].victim_fraction > 0.5 else 0.7
    attack = gvdn.perturb(graph, "random-connections", pool, seed=seed, victim_fraction=fraction)
    victims = attack.victims
    hidden = np.random.default_rng(seed).permutation(victims)[: len(victims) // 2]
    known = np.delete(graph.ids, hidden)
    base = GVDN(gamma_min=GAMMA_MIN[name], device=device)

    def score(what: str, probs: np.ndarray, nodes: np.ndarray, began: float, **more: float) -> None:
        labels = graph.labels[nodes]
        row = {"dataset": name, "seed": seed, "what": what, "accuracy": accuracy(probs[nodes], labels)}
        write(row | {"entropy": normalised_entropy(probs[nodes]), "seconds": time.perf_counter() - began} | more)

    if stage == "fit":
        for tag, change in FITS.items():
            began = time.perf_counter()
            model = dataclasses.replace(base, **change).fit(graph, split, seed=seed)
            score(f"fit {tag}", model.predict_proba(graph), pool, began, selected=model.outcome_.score)
        return
    model = GVDN.preset(name, device=device).fit(graph, split, seed=seed)
    clean = model.predict_proba(graph)
    score("clean victims", clean, victims, time.perf_counter())
    score("clean hidden", clean, hidden, time.perf_counter())
    score("perturbed", model.predict_proba(attack.graph), victims, time.perf_counter())
    for tag, (kinds, change) in RECOVERIES.items():
        variant = model.with_settings(**change)
        for what, options, nodes in [
            ("recovered", {}, victims),
            ("unseen", {"known": known}, hidden),
            ("labels", {"labels": True}, victims),
        ]:
            if what not in kinds:
                continue
            began = time.perf_counter()
            probs = variant.recover(attack.graph, **options).predict_proba(attack.graph)
            score(f"{what} {tag}", probs, nodes, began)
    guarded_graph = guarded(attack.graph, model.memory_.longest_row)
    for tag, rival in {"gcn": GNN(device=device), "rgcn": RGCN(128, device=device)}.items():
        for suffix, seen in [("", attack.graph), (" guarded", guarded_graph)]:
            began = time.perf_counter()
            probs = rival.fit(seen, split, seed=seed).predict_proba(seen)
            score(f"retrained {tag}{suffix}", probs, victims, began)


def pseudo_labels(name: str, kind: str, seed: int, device: str, write: Callable[[dict[str, object]], None]) -> None:
    """Both kinds of pseudo labels under one attack on validation nodes: all victims stored, half hidden, all hidden."""
    graph = protocol.graph_for(name, kind)
    split, pool = tuning_split(graph, seed)
    settings = {"victim_fraction": ATTACKS[kind]}
    attacked = Split(split.train, split.val, pool)
    meeting = protocol.perturbed(graph, name, attacked, kind, settings, seed=seed, device=device)
    victims = meeting.scored
    half = np.random.default_rng(seed).permutation(victims)[: len(victims) // 2]
    model = GVDN.preset(name, device=device).fit(graph, split, seed=seed)

    def right(fitted: GVDN, where: Graph, nodes: np.ndarray) -> float:
        return round(accuracy(fitted.predict_proba(where)[nodes], graph.labels[nodes]), 4)

    row: dict[str, object] = {"dataset": name, "kind": kind, "seed": seed, "victims": len(victims)}
    row |= {"clean": right(model, graph, victims), "perturbed": right(model, meeting.graph, victims)}
    for how in PSEUDO_LABELS:
        variant = model.with_settings(pseudo_labels=how)
        row[f"{how}, stored"] = right(variant.recover(meeting.graph), meeting.graph, victims)
        for words, hidden in (("half unseen", half), ("unseen", victims)):
            recovered = variant.recover(meeting.graph, known=np.delete(graph.ids, hidden))
            row[f"{how}, {words}"] = right(recovered, meeting.graph, hidden)
    write(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--stage", choices=["fit", "recover", "pseudo"], required=True)
    parser.add_argument("--datasets", nargs="+", default=REAL)
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102, 103])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("a") as file:

        def write(row: dict[str, object]) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        for seed in options.seeds:
            for name in options.datasets:
                began = time.perf_counter()
                run(name, seed, options.device, options.stage, write)
                print(f"{name} seed {seed}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
