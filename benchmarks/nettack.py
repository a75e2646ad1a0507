"""Nettack side by side with deeprobust's on Cora, and alone on larger graphs: seconds per victim, margin and memory.

    GVDN_DATA=... python benchmarks/nettack.py            (every job, records appended to results/nettack.jsonl)

cora: ten victims, 2 links and then 20 features each on its own copy of the graph, the same surrogate, goal (away from
the label), constraints and binary features for both; the two take turns in one process. The margin is the surrogate's,
computed anew from the graphs that come out. memory-gvdn, memory-deeprobust: the first of these victims, with the peak
memory of the process and what it held before the attack. The other jobs attack a hundred victims on one graph, as the
protocol does. All but cora are in a process of their own that has not trained anything. deeprobust is no dependency:
`pip install --no-deps deeprobust` and numba beside gvdn are enough; what it imports and Nettack never calls is replaced
by stand-ins here.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from stand_ins import stand_in_for_what_is_absent

import gvdn
from gvdn.graph import Graph, Split, normalised_adjacency
from gvdn.perturbations import LinearSurrogate, attack_each, perturb, replay

LINKS, FEATURES = 2, 20
LARGER = ("pubmed", "coauthor-cs", "debian-large")
MEMORY = ("memory-gvdn", "memory-deeprobust")
RECORDS = Path(__file__).parent.parent / "results" / "nettack.jsonl"


def load(name: str) -> tuple[Graph, Split]:
    """The graph as it is attacked: Cora and the counts of Coauthor made binary, the others row-normalised."""
    graph = gvdn.load_graph(name)
    if name in ("cora", "coauthor-cs"):
        graph = dataclasses.replace(graph, features=sp.csr_array(graph.features != 0, dtype=np.float32))
    return graph, gvdn.random_split(graph, seed=0)


def train(name: str) -> np.ndarray:
    """W of a linearised GCN: logistic regression on Â²X."""
    from sklearn.linear_model import LogisticRegression

    graph, split = load(name)
    A_hat = normalised_adjacency(graph)
    seen = sp.csr_array(A_hat[split.train] @ A_hat @ graph.features)
    stiff = 1.0 if name in ("cora", "coauthor-cs") else 100.0
    fitted = LogisticRegression(C=stiff, fit_intercept=False, max_iter=500).fit(seen, graph.labels[split.train])
    W = np.zeros((graph.num_features, graph.num_classes))
    W[:, fitted.classes_] = fitted.coef_.T
    return W


def margin(graph: Graph, W: np.ndarray, node: int) -> float:
    """The label's logit less the best other one's."""
    A_hat = normalised_adjacency(graph).astype(np.float64)
    logits = np.asarray(A_hat[[node]] @ A_hat @ (graph.features @ W))[0]
    return float(logits[graph.labels[node]] - np.delete(logits, graph.labels[node]).max())


def deeprobust_nettack() -> type | None:
    """deeprobust's class, or None where it is not installed."""
    stand_in_for_what_is_absent()
    try:
        from deeprobust.graph.targeted_attack import Nettack
    except ImportError as problem:
        print(f"deeprobust is not installed ({problem}), so gvdn is measured alone", file=sys.stderr)
        return None
    return Nettack


class Theirs:
    """deeprobust's Nettack under the protocol: links first, then features on the graph that came out."""

    def __init__(self, Nettack: type, graph: Graph, W: np.ndarray) -> None:
        import torch

        layers = {
            "gc1": SimpleNamespace(weight=torch.from_numpy(W)),
            "gc2": SimpleNamespace(weight=torch.eye(W.shape[1]).double()),
        }
        self.surrogate = SimpleNamespace(nclass=W.shape[1], nfeat=W.shape[0], hidden_sizes=[W.shape[1]], **layers)
        self.Nettack, self.graph = Nettack, graph

    def attack(self, victim: int) -> Graph:
        graph = self.graph
        adjacency, features = sp.csr_matrix(graph.adjacency), sp.csr_matrix(graph.features)
        links = self.Nettack(self.surrogate, nnodes=graph.num_nodes, attack_structure=True, attack_features=False)
        links.attack(features, adjacency, graph.labels, victim, LINKS, verbose=False)
        adjacency = sp.csr_matrix(links.modified_adj)
        words = self.Nettack(self.surrogate, nnodes=graph.num_nodes, attack_structure=False, attack_features=True)
        words.attack(features, adjacency, graph.labels, victim, FEATURES, verbose=False)
        return dataclasses.replace(
            graph, adjacency=sp.csr_array(adjacency), features=sp.csr_array(words.modified_features, dtype=np.float32)
        )


def vulnerable(graph: Graph, split: Split, W: np.ndarray) -> list[int]:
    """Eleven test nodes with few links that the surrogate classifies correctly."""
    return [int(v) for v in split.test if 0 < graph.degrees[v] < 10 and margin(graph, W, v) > 0][: 11 * 30 : 30]


def rules_of(W: np.ndarray) -> dict[str, object]:
    return {"surrogate": LinearSurrogate(W), "labels": True, "link_flips": LINKS, "feature_flips": FEATURES}


def compare() -> dict[str, object]:
    """Both on Cora, taking turns over ten victims that the surrogate classifies correctly."""
    (graph, split), W = load("cora"), train("cora")
    warm_up, *victims = vulnerable(graph, split, W)
    Nettack = deeprobust_nettack()
    theirs = Theirs(Nettack, graph, W) if Nettack else None
    rules = rules_of(W)
    next(attack_each(graph, split, seed=0, victims=[warm_up], **rules))
    if theirs:
        theirs.attack(warm_up)  # numba compiles on the first call
    clean = [margin(graph, W, victim) for victim in victims]
    began = time.perf_counter()
    receipts = attack_each(graph, split, seed=0, victims=victims, **rules)
    seconds = {"gvdn": time.perf_counter() - began, "deeprobust": 0.0}
    drops: dict[str, list[float]] = {"gvdn": [], "deeprobust": []}
    for victim, before in zip(victims, clean, strict=True):
        began = time.perf_counter()
        receipt = next(receipts)
        seconds["gvdn"] += time.perf_counter() - began
        drops["gvdn"].append(before - margin(replay(graph, receipt).graph, W, victim))
        if theirs:
            began = time.perf_counter()
            after = theirs.attack(victim)
            seconds["deeprobust"] += time.perf_counter() - began
            drops["deeprobust"].append(before - margin(after, W, victim))
    record = {"job": "compare", "dataset": "cora", "victims": victims, "link_flips": LINKS, "feature_flips": FEATURES}
    record |= {"clean_margin": _mean(clean), "gvdn_s_per_victim": round(seconds["gvdn"] / 10, 5)}
    record |= {"gvdn_drop": _mean(drops["gvdn"])}
    if theirs:
        pairs = list(zip(drops["gvdn"], drops["deeprobust"], strict=True))
        record |= {
            "deeprobust_s_per_victim": round(seconds["deeprobust"] / 10, 3),
            "deeprobust_drop": _mean(drops["deeprobust"]),
            "times_faster": round(seconds["deeprobust"] / seconds["gvdn"]),
            "at_least_as_deep": sum(ours >= other - 1e-4 * abs(other) for ours, other in pairs),
            "drops": [[round(ours, 4), round(other, 4)] for ours, other in pairs],
        }
    return record


def memory(job: str, weights: Path) -> dict[str, object] | None:
    """Peak memory of one library's attack on one victim on Cora, and before it; None where it is not installed."""
    (graph, split), W = load("cora"), np.load(weights)
    victim = vulnerable(graph, split, W)[1]
    if job == "memory-gvdn":
        loaded = _peak_mib()
        next(attack_each(graph, split, seed=0, victims=[victim], **rules_of(W)))
    else:
        Nettack = deeprobust_nettack()
        if Nettack is None:
            return None
        loaded = _peak_mib()
        Theirs(Nettack, graph, W).attack(victim)
    return {"job": job, "dataset": "cora", "victims": 1, "peak_mib": _peak_mib(), "peak_mib_before": loaded}


def alone(name: str, weights: Path) -> dict[str, object]:
    """A hundred victims on one graph; peak memory of the attack, and before it."""
    graph, split = load(name)
    W = np.load(weights)
    loaded = _peak_mib()
    fraction = 100 / len(split.test)
    began = time.perf_counter()
    settings = {"victim_fraction": fraction, "thin_first": False}
    done = perturb(graph, "nettack", split, seed=0, surrogate=LinearSurrogate(W), **settings)
    seconds = time.perf_counter() - began
    return {
        "job": "alone",
        "dataset": name,
        "victims": len(done.victims),
        "link_flips": LINKS,
        "feature_flips": FEATURES,
        "s_per_victim": round(seconds / len(done.victims), 4),
        "peak_mib": _peak_mib(),
        "peak_mib_before": loaded,
        "clean_margin": _mean([margin(graph, W, int(victim)) for victim in done.victims[:20]]),
        "attacked_margin": _mean([margin(done.graph, W, int(victim)) for victim in done.victims[:20]]),
    }


def _peak_mib() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--job", choices=["cora", *MEMORY, *LARGER], help="run one job in this process; all when left out"
    )
    parser.add_argument("--weights", type=Path, help="npy file of a surrogate's W, for every job but cora")
    parser.add_argument("--train", action="store_true", help="train that surrogate and write the file, nothing else")
    parser.add_argument("--output", type=Path, default=RECORDS, help="where a line per job is appended")
    options = parser.parse_args()
    if options.train:
        np.save(options.weights, train("cora" if options.job in MEMORY else options.job))
    elif options.job:
        record = measured(options.job, options.weights)
        if record is None:
            return
        record |= {"threads": os.environ.get("OMP_NUM_THREADS"), "machine": platform.machine(), "numpy": np.__version__}
        print(json.dumps(record), flush=True)
        with options.output.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
    else:
        run_all(options.output)


def measured(job: str, weights: Path) -> dict[str, object] | None:
    """The record of one job, if there is one."""
    if job == "cora":
        return compare()
    return memory(job, weights) if job in MEMORY else alone(job, weights)


def run_all(output: Path) -> None:
    """Every job and every training in its own process: a child's peak memory starts from its parent's."""
    with tempfile.TemporaryDirectory() as scratch:
        for job in ("cora", *MEMORY, *LARGER):
            words = [sys.executable, __file__, "--job", job, "--weights", f"{scratch}/{job}.npy"]
            if job != "cora":
                subprocess.run([*words, "--train"], check=True)
            subprocess.run([*words, "--output", str(output)], check=True)


if __name__ == "__main__":
    main()
