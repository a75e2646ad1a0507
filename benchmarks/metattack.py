"""Metattack side by side with deeprobust's on Cora: how far a GCN falls that is trained on the result, seconds, memory.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/metattack.py        (records appended to results/metattack.jsonl)

Both flip as many links, by the loss on the nodes that are not trained on (Meta-Self), on binary features and the split
of a seed that no table reports. Each attack runs in a process of its own, one thread, one after the other; ours in its
twelve steps, and with a gradient for every flip as deeprobust's. The GCN is ours, trained ten times on each graph.
deeprobust is no dependency: see `defences.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import scipy.sparse as sp
import torch
from stand_ins import stand_in_for_what_is_absent

import gvdn
from gvdn.graph import Graph, Split
from gvdn.methods import make_method
from gvdn.perturbations.family import flips_allowed

RECORDS = Path(__file__).parent.parent / "results" / "metattack.jsonl"
SEED, FITS = 100, 10
JOBS = ("clean", "gvdn", "gvdn, a gradient for every flip", "deeprobust")


def load() -> tuple[Graph, Split]:
    graph = gvdn.load_graph("cora")
    return graph, gvdn.random_split(graph, seed=SEED)


def attacked(job: str, graph: Graph, split: Split, fraction: float) -> Graph:
    """The graph that an attack makes of one with binary features."""
    if job == "deeprobust":
        return theirs(graph, split, flips_allowed(graph, fraction))
    how = {"edge_fraction": fraction, "flips_per_step": 0 if job == "gvdn" else 1}
    return gvdn.perturb(graph, "metattack", split, seed=SEED, **how).graph


def theirs(graph: Graph, split: Split, flips: int) -> Graph:
    stand_in_for_what_is_absent()
    from deeprobust.graph.defense import GCN
    from deeprobust.graph.global_attack import Metattack

    torch.manual_seed(SEED)
    X, A = sp.csr_matrix(graph.features), sp.csr_matrix(graph.adjacency)
    unlabelled = np.setdiff1d(np.arange(graph.num_nodes), split.train)
    shape = {"nfeat": graph.num_features, "nclass": graph.num_classes, "nhid": 16, "device": "cpu"}
    surrogate = GCN(**shape, dropout=0.5, with_relu=False, with_bias=False)
    surrogate.fit(X, A, graph.labels, split.train, split.val, patience=30)
    attack = Metattack(surrogate, nnodes=graph.num_nodes, feature_shape=X.shape, attack_features=False, lambda_=0)
    attack.attack(X, A, graph.labels, split.train, unlabelled, flips, ll_constraint=False)
    return dataclasses.replace(graph, adjacency=sp.csr_array(attack.modified_adj.numpy()))


def measure(job: str, fraction: float) -> dict[str, object]:
    """In a process of its own: one attack, then the fits."""
    torch.set_num_threads(1)
    graph, split = load()
    binary = dataclasses.replace(graph, features=sp.csr_array(graph.features != 0, dtype=np.float32))
    wall, processor = time.perf_counter(), time.process_time()
    changed = graph if job == "clean" else attacked(job, binary, split, fraction)
    seconds = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    poisoned = dataclasses.replace(graph, adjacency=changed.adjacency)
    fits = [make_method("gcn", "cora").fit(poisoned, split, seed=seed) for seed in range(FITS)]
    accuracies = [fit.score(poisoned, split.test) for fit in fits]
    return {
        "flips": int(abs(sp.csr_array(graph.adjacency) - sp.csr_array(poisoned.adjacency)).sum() // 2),
        **{name: round(value, 1) for name, value in seconds.items()},
        "peak_mib": round(peak),
        "accuracy": round(100 * fmean(accuracies), 2),
        "spread": round(100 * stdev(accuracies), 2),
        "fits": FITS,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fraction", type=float, default=0.01, help="flips as a share of the links")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(io.StringIO()):
            found = measure(options.job, options.fraction)
        print(json.dumps(found))
        return
    for job in JOBS if find_spec("deeprobust") else JOBS[:-1]:
        command = [sys.executable, __file__, "--job", job, "--fraction", str(options.fraction)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
        if done.returncode:
            sys.exit(f"{job} failed: {done.stderr.strip().splitlines()[-1]}")
        record = {"attack": job, "dataset": "cora", "seed": SEED} | json.loads(done.stdout.splitlines()[-1])
        print(json.dumps(record), flush=True)
        with options.records.open("a") as file:
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
