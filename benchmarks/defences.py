"""GCN-Jaccard, GCN-SVD, RGCN and ProGNN beside deeprobust's on Cora: same graph, split, epochs and width.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/defences.py      (records appended to results/defences.jsonl)

Each training runs in a process of its own, the two libraries in turn, so that seconds and peak memory are comparable.
Seconds are those of `fit` with everything it prepares; accuracy is that of all test nodes of the clean graph.
deeprobust is no dependency: `pip install --no-deps deeprobust` and numba, networkx, tqdm beside gvdn are enough; what
it imports besides and never calls here is stood in for.
"""

from __future__ import annotations

import argparse
import contextlib
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
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from stand_ins import stand_in_for_what_is_absent

RECORDS = Path(__file__).parent.parent / "results" / "defences.jsonl"
METHODS = {
    "gcn-jaccard": {"epochs": 300, "hidden": 200},
    "gcn-svd": {"epochs": 300, "hidden": 200},
    "rgcn": {"epochs": 400, "hidden": 64},
    "prognn": {"epochs": 100, "hidden": 200},
}
LIBRARIES = ("gvdn", "deeprobust")


def load(seed: int) -> tuple[Any, Any]:
    import gvdn

    graph = gvdn.load_graph("cora")
    return graph, gvdn.random_split(graph, seed=seed)


def ours(method: str, epochs: int, seed: int) -> tuple[float, np.ndarray]:
    from gvdn.methods import make_method

    graph, split = load(seed)
    model = make_method(method, "cora", paper=True, epochs=epochs)
    began = time.perf_counter()
    model.fit(graph, split, seed=seed)
    return time.perf_counter() - began, model.predict_proba(graph).argmax(axis=1)


def theirs(method: str, epochs: int, seed: int) -> tuple[float, np.ndarray]:
    import torch

    stand_in_for_what_is_absent()
    from deeprobust.graph import defense

    graph, split = load(seed)
    torch.manual_seed(seed)
    hidden = METHODS[method]["hidden"]
    X, A = sp.csr_matrix(graph.features), sp.csr_matrix(graph.adjacency)
    shape = {"nfeat": graph.num_features, "nhid": hidden, "nclass": graph.num_classes, "device": "cpu"}
    learning = (graph.labels, split.train, split.val)
    labels = torch.from_numpy(graph.labels.copy())
    train, val = torch.from_numpy(split.train.copy()), torch.from_numpy(split.val.copy())
    began = time.perf_counter()
    if method == "prognn":
        given = {"lr": 0.01, "weight_decay": 5e-4, "lr_adj": 0.01, "alpha": 5e-4, "beta": 1.5, "gamma": 1.0}
        given |= {"lambda_": 0.0, "phi": 0.0, "epochs": epochs, "outer_steps": 1, "inner_steps": 2}
        given |= {"symmetric": True, "only_gcn": False, "debug": False}
        features, adjacency = torch.from_numpy(X.toarray()), torch.from_numpy(A.toarray())
        model = defense.ProGNN(defense.GCN(**shape, dropout=0.5), SimpleNamespace(**given), "cpu")
        model.fit(features, adjacency, labels, train, val)
        spent = time.perf_counter() - began
        model.model.eval()
        logits = model.model(features, model.best_graph)
    elif method == "rgcn":
        model = defense.RGCN(nnodes=graph.num_nodes, **shape)
        model.fit(X, A, *learning, train_iters=epochs, verbose=False)
        spent = time.perf_counter() - began
        logits = model.predict()
    else:
        kind, more = (
            (defense.GCNJaccard, {"threshold": 0.01}) if method == "gcn-jaccard" else (defense.GCNSVD, {"k": 15})
        )
        model = kind(**shape, dropout=0.5)
        model.fit(X, A, *learning, **more, train_iters=epochs, verbose=False)
        spent = time.perf_counter() - began
        logits = model.predict()
    return spent, logits.detach().numpy().argmax(axis=1)


def job(library: str, method: str, epochs: int, seed: int) -> None:
    """In a process of its own: one training; prints its numbers."""
    import torch

    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        seconds, answers = (ours if library == "gvdn" else theirs)(method, epochs, seed)
    graph, split = load(seed)
    numbers = {
        "seconds": round(seconds, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
        "accuracy": round(float((answers == graph.labels)[split.test].mean()), 4),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
    }
    print(json.dumps(numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=int, help="instead of the printed ones")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--job", nargs=4, metavar=("LIBRARY", "METHOD", "EPOCHS", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        library, method, epochs, seed = options.job
        job(library, method, int(epochs), int(seed))
        return
    libraries = LIBRARIES if find_spec("deeprobust") else LIBRARIES[:1]
    if len(libraries) == 1:
        print("deeprobust is not installed, so gvdn is measured alone", file=sys.stderr)
    for seed in options.seeds:
        for method in options.methods:
            epochs = options.epochs or METHODS[method]["epochs"]
            for library in libraries:
                command = [sys.executable, __file__, "--job", library, method, str(epochs), str(seed)]
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
                if done.returncode:
                    sys.exit(f"{library} {method} failed: {done.stderr.strip().splitlines()[-1]}")
                record = {"library": library, "method": method, "epochs": epochs, "seed": seed}
                record |= json.loads(done.stdout.splitlines()[-1])
                print(json.dumps(record), flush=True)
                with options.records.open("a") as file:
                    file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
