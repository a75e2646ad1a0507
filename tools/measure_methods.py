"""All fourteen methods on the real graphs under one protocol: one JSON line per run, with settings, versions, device.

    GVDN_DATA=… python tools/measure_methods.py results/methods.jsonl --workers 2
    python tools/measure_methods.py results/methods.jsonl --table

Split, victims and weights are drawn anew for each seed, and every method of a cell meets the same victims. Accuracy and
entropy are measured on the victims. A run that has a record is not measured again, so a stopped grid goes on.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from gvdn.cli.console import parse_settings
from gvdn.experiments.cell import Cell
from gvdn.experiments.grid import missing, run_grid
from gvdn.experiments.runs import read_records
from gvdn.methods import METHODS

REAL = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")


def table(path: Path) -> None:
    """Means in per cent over the seeds: accuracy ± spread, entropy, seconds; one row per method and mode."""
    cells: dict[tuple[str, str], dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for record in read_records(path):
        cell = record["cell"]
        if "error" in record:
            print(f"failed: {cell['dataset']} {cell['method']} {record['mode']} seed {cell['seed']}: {record['error']}")
            continue
        numbers = [100 * record["accuracy"], 100 * record["entropy"], sum(record["seconds"].values())]
        cells[cell["method"], record["mode"]][cell["dataset"]].append(numbers)
    datasets = [name for name in REAL if any(name in row for row in cells.values())]
    print("| method | perturbed graph met | " + " | ".join(datasets) + " |")
    print("|---" * (len(datasets) + 2) + "|")
    for method, mode in sorted(cells, key=lambda row: (list(METHODS).index(row[0]), row[1])):
        shown = []
        for name in datasets:
            numbers = np.array(cells[method, mode].get(name, [])).reshape(-1, 3)
            spread = numbers[:, 0].std(ddof=1) if len(numbers) > 1 else float("nan")
            mean = numbers.mean(axis=0) if len(numbers) else None
            shown.append("–" if mean is None else f"{mean[0]:.1f} ± {spread:.1f} / {mean[1]:.0f} / {mean[2]:.0f} s")
        print(f"| {method} | {mode} | " + " | ".join(shown) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--table", action="store_true", help="print the means of the records instead of measuring")
    parser.add_argument("--plan", action="store_true", help="print what is missing instead of measuring")
    parser.add_argument("--datasets", nargs="+", default=list(REAL))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--perturbation", default="random-connections")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of the perturbation")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each process")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.table:
        table(options.records)
        return
    cells = [
        Cell(dataset, method, seed, options.perturbation, parse_settings(options.set))
        for dataset in options.datasets
        for seed in options.seeds
        for method in options.methods
    ]
    if options.plan:
        for cell, modes in missing(cells, options.records):
            print(cell.dataset, cell.method, cell.seed, *modes, sep="  ")
        return
    began = time.perf_counter()

    def report(done: int, of: int, cell: Cell) -> None:
        spent = time.perf_counter() - began
        print(f"{done}/{of} {spent:.0f} s  {cell.dataset} {cell.method} seed {cell.seed}", flush=True)

    run_grid(
        cells,
        options.records,
        workers=options.workers,
        threads=options.threads,
        device=options.device,
        report=report,
    )


if __name__ == "__main__":
    main()
