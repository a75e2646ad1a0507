"""Every method on the two large graphs: peak memory and seconds per epoch, each in a process of its own.

    GVDN_DATA=... python benchmarks/large.py        (records appended to results/large.jsonl)

A few epochs (or sweeps) with the settings of each method; memory does not grow with their number. `gcn` is measured in
the same run, to compare with. flickr-structure needs the real structure in GVDN_DATA; debian-large is bundled.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

from gvdn.methods import METHODS

RECORDS = Path(__file__).parent.parent / "results" / "large.jsonl"
EPOCHS = 4
FEW = {"graphss": {"sweeps": 4, "warm_up": 1, "retrain_every": 2, "retrain_epochs": 2}}
FEW |= {"lindt": FEW["graphss"], "gvdn": {"recovery_epochs": 4, "trust": False}}


def job(dataset: str, method: str) -> None:
    """In a process of its own: fit, meet the perturbed graph, answer; prints its numbers."""
    import torch

    import gvdn

    graph = gvdn.load_graph(dataset)
    split = gvdn.random_split(graph, seed=0)
    attack = gvdn.perturb(graph, "random-connections", split, seed=0)
    model = gvdn.make_method(method, dataset, epochs=EPOCHS, **FEW.get(method, {}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticks = [time.perf_counter()]
    model.fit(graph, split, seed=0, callback=lambda *_: ticks.append(time.perf_counter()))
    fitted = time.perf_counter()
    if model.capabilities.recovers:
        model = model.recover(attack.graph)
    model.predict_proba(attack.graph)
    numbers = {
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
        "peak_before_mib": round(before / 2**10),
        "preparation_s": round(ticks[1] - ticks[0], 2),
        "epoch_s": round((ticks[-1] - ticks[1]) / (len(ticks) - 2), 3),
        "afterwards_s": round(time.perf_counter() - fitted, 2),
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    print(json.dumps(numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["debian-large", "flickr-structure"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--job", nargs=2, metavar=("DATASET", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(*options.job)
        return
    for dataset in options.datasets:
        for method in options.methods:
            command = [sys.executable, __file__, "--job", dataset, method]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
            record = {"dataset": dataset, "method": method}
            if done.returncode:
                record["error"] = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            else:
                record |= json.loads(done.stdout.splitlines()[-1])
            print(json.dumps(record), flush=True)
            with options.records.open("a") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
