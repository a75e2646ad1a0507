"""What the trust model costs: its seconds beside those of `fit`, and the peak memory of both on a large graph.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/trust_cost.py [--datasets cora] [--threads 1 2] [--epochs 20]
                      [--memory] [--show]                               (records in results/trust-cost.jsonl)

Seconds: in one process, one after the other and several times, GVDN with its default settings is fitted, its student
is taught (with all else that a baseline stores) and the trust model is fitted. Each has seconds of the wall and of the
processor; the latter count on a machine that does other work, whose load is recorded. With `--epochs` fewer epochs are
run than the settings say, and the seconds of the fit are those of its preparation and of the mean epoch times their
number; what is measured afterwards does not depend on how good the model is.

Memory: `import`, `fit`, `trust` and `judge` on debian-large, each with all that is before it, in a process of its own;
a few epochs, since memory does not grow with their number. Judged is the graph under wrong links, victims not stored.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import gvdn
from gvdn.bench.origin import origin

RECORDS = Path(__file__).parent.parent / "results" / "trust-cost.jsonl"
DATASETS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
FEW_EPOCHS = 4
STAGES = ("import", "fit", "trust", "judge")
LARGE = "debian-large"


def clocks() -> np.ndarray:
    """Seconds of the wall and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def spent(work: Callable[[], Any]) -> np.ndarray:
    began = clocks()
    work()
    return clocks() - began


def fitted(dataset: str, epochs: int | None) -> tuple[gvdn.GVDN, np.ndarray]:
    """GVDN fitted on a graph, and the seconds of as many epochs as its settings say."""
    graph = gvdn.load_graph(dataset)
    split = gvdn.random_split(graph, seed=0)
    model = gvdn.GVDN()
    asked = model.epochs
    model.set_params(epochs=min(epochs or asked, asked))
    ticks = [clocks()]
    model.fit(graph, split, seed=0, callback=lambda *_: ticks.append(clocks()))
    ticks.append(clocks())
    of_epochs = ticks[-2] - ticks[1]
    return model, ticks[-1] - ticks[0] + of_epochs * (asked - model.epochs) / (len(ticks) - 3)


def times(dataset: str, threads: int, epochs: int | None, repetitions: int) -> Iterator[dict[str, Any]]:
    """A record of each repetition; the first fit of a process, which loads and compiles, is not measured."""
    torch.set_num_threads(threads)
    fitted("debian", FEW_EPOCHS)[0].baseline_.trust()
    for repetition in range(repetitions):
        model, fit = fitted(dataset, epochs)
        seconds = {"fit": fit, "student": spent(model.baseline_.stored), "trust": spent(model.baseline_.trust)}
        yield {
            "what": "seconds",
            "dataset": dataset,
            "threads": threads,
            "repetition": repetition,
            "seed": 0,
            "epochs_run": model.epochs,
            **{name: {"wall": round(wall, 2), "cpu": round(cpu, 2)} for name, (wall, cpu) in seconds.items()},
            "load": os.getloadavg()[0],
        } | origin("cpu")


def stage(name: str) -> dict[str, Any]:
    """In a process of its own: everything up to a stage on the large graph, and the most memory that it held."""
    began = time.perf_counter()
    if name != "import":
        graph = gvdn.load_graph(LARGE)
        split = gvdn.random_split(graph, seed=0)
        model = gvdn.GVDN(epochs=FEW_EPOCHS).fit(graph, split, seed=0)
        if name != "fit":
            model.baseline_.trust()
        if name == "judge":
            attack = gvdn.perturb(graph, "wrong-links", split, seed=0)
            judge(model, attack)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = round(time.perf_counter() - began, 1)
    about = {"what": "memory", "dataset": LARGE, "stage": name, "seed": 0, "epochs_run": FEW_EPOCHS}
    return about | {"peak_gib": round(peak, 2), "seconds": seconds} | origin("cpu")


def judge(model: gvdn.GVDN, attack: gvdn.Perturbed) -> None:
    """Judge the graph without what was stored of the victims, ask the model on it, and join the answers."""
    from gvdn.trust.front import front_of

    lazy = model.baseline_.only(np.delete(attack.graph.ids, attack.victims))
    front = front_of(lazy.trust(), lazy.stored(), attack.graph)
    front.answers(model.predict_proba(front.seen))


def append(record: dict[str, Any]) -> None:
    with RECORDS.open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)


def show(records: list[dict[str, Any]]) -> None:
    """Markdown tables: medians of the processor's seconds, and the peaks."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["what"] == "seconds":
            found[record["dataset"], record["threads"]].append(record)
    print("| | threads | fit | student | trust | with trust / without |\n|---|---:|---:|---:|---:|---:|")
    for (dataset, threads), these in found.items():
        fit, student, trust = (np.median([one[name]["cpu"] for one in these]) for name in ("fit", "student", "trust"))
        ratio = np.median([sum(one[name]["cpu"] for name in ("fit", "student", "trust")) / one["fit"]["cpu"]
                           for one in these])  # fmt: skip
        print(f"| {dataset} | {threads} | {fit:.1f} | {student:.1f} | {trust:.1f} | {ratio:.2f} |")
    print("\n| stage | peak, GiB | seconds |\n|---|---:|---:|")
    for record in (record for record in records if record["what"] == "memory"):
        print(f"| {record['stage']} | {record['peak_gib']} | {record['seconds']} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--epochs", type=int, help="epochs that are run; as many as the settings say when left out")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="measure memory, not seconds")
    parser.add_argument("--show", action="store_true", help="print tables of the records, and run nothing")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.show:
        show([json.loads(line) for line in RECORDS.read_text().splitlines()])
    elif given.stage:
        append(stage(given.stage))
    elif given.memory:
        for name in STAGES:
            subprocess.run([sys.executable, __file__, "--stage", name], check=True)
    else:
        for dataset in given.datasets:
            for threads in given.threads:
                for record in times(dataset, threads, given.epochs, given.repetitions):
                    append(record)


if __name__ == "__main__":
    main()
