"""Peak memory and seconds of the two heavy things a user does, each in a process of its own.

    python benchmarks/memory.py

fit-recover: a full fit and a full recovery on debian-large. tables: a million edges and 200,000 nodes as CSV are
loaded and perturbed. The baseline is a process that only imports what the job imports.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def baseline() -> None:
    import gvdn

    gvdn.GVDN  # noqa: B018  (imports torch)


def fit_recover() -> None:
    import gvdn

    graph = gvdn.load_graph("debian-large")
    split = gvdn.random_split(graph, seed=0)
    model = gvdn.GVDN.preset("debian-large", trust=False).fit(graph, split, seed=0)
    attack = gvdn.perturb(graph, "random-connections", split, seed=0)
    model.recover(attack.graph).predict_proba(attack.graph)


def tables() -> None:
    import gvdn

    nodes, edges = 200_000, 1_000_000
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        columns = rng.random((nodes, 10)).round(3)
        rows = (f"u{n},c{n % 5}," + ",".join(map(str, row)) for n, row in enumerate(columns.tolist()))
        header = "id,label," + ",".join(f"x{n}" for n in range(10))
        (folder / "nodes.csv").write_text("\n".join([header, *rows]) + "\n")
        pairs = rng.integers(0, nodes, (edges, 2)).tolist()
        (folder / "edges.csv").write_text("source,target\n" + "\n".join(f"u{a},u{b}" for a, b in pairs) + "\n")
        del columns, rows, pairs
        began = time.perf_counter()
        graph = gvdn.load_graph(folder)
        loaded = time.perf_counter()
        gvdn.perturb(graph, "random-connections", gvdn.random_split(graph, seed=0), seed=0)
        gvdn.perturb(graph, "information-sparsity", gvdn.random_split(graph, seed=0), seed=0)
        print(json.dumps({"load_s": round(loaded - began, 1), "perturb_s": round(time.perf_counter() - loaded, 1)}))


JOBS = {"baseline": baseline, "fit-recover": fit_recover, "tables": tables}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", choices=JOBS, help="run one job in this process; all of them when left out")
    options = parser.parse_args()
    if options.job:
        began = time.perf_counter()
        JOBS[options.job]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        seconds = round(time.perf_counter() - began, 1)
        print(json.dumps({"job": options.job, "peak_gib": round(peak, 2), "seconds": seconds}), flush=True)
        return
    for job in JOBS:
        subprocess.run([sys.executable, __file__, "--job", job], check=True)


if __name__ == "__main__":
    main()
