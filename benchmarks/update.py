"""A model that is updated every day, beside one that is fitted anew every day, on thirty generated days.

    PYTHONPATH=src python benchmarks/update.py [--days 30] [--seeds 0 1 2] [--device cuda]
                                                                   (records in results/update.jsonl)

Each day 1 % of the accounts and links change and labels arrive with delay (`gvdn.testing.accounts`). Both models are
asked about the accounts whose label has not arrived; what is true of them is known to the generator and to the scores
alone. A third row is the model of the first day, never touched again. Both are timed in one process, one after the
other. A killed run goes on with the same command, from the first day of the seed that is not complete.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import gvdn
from gvdn.bench.origin import origin
from gvdn.graph import Graph
from gvdn.metrics import average_precision, roc_auc
from gvdn.reports.figures import curves
from gvdn.testing.accounts import Day, days

RECORDS = Path(__file__).parent.parent / "results" / "update.jsonl"
SETTINGS: dict[str, Any] = {"hidden": 64, "epochs": 200, "select": "auc", "class_weight": "balanced"}
SHARES = {"train": 0.6, "val": 0.4, "test": 0.0}


def scores(model: Any, graph: Graph, day: Day) -> dict[str, float]:
    """How the accounts without a label are ranked."""
    hidden = graph.labels < 0
    fraud = model.class_names_.index("fraud")
    probs = model.predict_proba(graph)[hidden, fraud]
    return {"auc": roc_auc(probs, day.fraud[hidden]), "average_precision": average_precision(probs, day.fraud[hidden])}


def fit_anew(graph: Graph, seed: int, device: str) -> Any:
    return gvdn.GVDN(**SETTINGS, device=device).fit(graph, gvdn.random_split(graph, seed=seed, **SHARES), seed=seed)


def measure(seed: int, number: int, accounts: int, device: str) -> None:
    stream, updated, first = days(seed + 1000, accounts), None, None
    for today in range(1, number + 1):
        day = next(stream)
        columns = None if first is None else first.columns_
        graph = Graph.from_tables(day.nodes, day.edges, columns=columns, name=f"day {today}")
        began = time.perf_counter()
        anew = fit_anew(graph, seed, device)
        fit_seconds = time.perf_counter() - began
        began = time.perf_counter()
        updated = anew if updated is None else updated.update(graph)
        update_seconds = time.perf_counter() - began
        first = first or anew
        rows = {"updated": updated, "fitted anew": anew, "first day": first}
        content = {"seed": seed, "day": today, "seconds": {"fit": fit_seconds, "update": update_seconds}}
        content |= {name: scores(model, graph, day) for name, model in rows.items()}
        with RECORDS.open("a") as file:
            file.write(json.dumps(content | origin(device)) + "\n")
        told = "  ".join(f"{name} {content[name]['auc']:.4f}" for name in rows)
        print(f"seed {seed} day {today:2d}  {told}  fit {fit_seconds:.2f} s, update {update_seconds:.2f} s", flush=True)


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """The area under the curve of each day, mean and spread over the seeds."""
    every = sorted({line["day"] for line in lines})
    by_day = {today: [line for line in lines if line["day"] == today] for today in every}
    rows = ("updated", "fitted anew", "first day")
    found = {name: [[100 * line[name]["auc"] for line in by_day[today]] for today in every] for name in rows}
    panel = {
        name: (every, [float(np.mean(part)) for part in parts], [float(np.std(part)) for part in parts])
        for name, parts in found.items()
    }
    title = "Thirty days of accounts"
    path.write_text(curves({title: panel}, xlabel="day", ylabels=["ROC-AUC of fraud, %"], title=title))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--accounts", type=int, default=3000)
    parser.add_argument("--picture", type=Path, help="an SVG to draw of the records")
    given = parser.parse_args()
    lines = [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []
    for seed in given.seeds:
        there = [line for line in lines if line["seed"] == seed]
        if len(there) >= given.days:
            continue
        if there:  # the model of yesterday is gone: this seed begins again
            lines = [line for line in lines if line["seed"] != seed]
            RECORDS.write_text("".join(json.dumps(line) + "\n" for line in lines))
        measure(seed, given.days, given.accounts, given.device)
    lines = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    gaps = [line["fitted anew"]["auc"] - line["updated"]["auc"] for line in lines]
    late = [gap for gap, line in zip(gaps, lines, strict=True) if line["day"] > 1]
    ratio = sum(line["seconds"]["update"] for line in lines if line["day"] > 1) / sum(
        line["seconds"]["fit"] for line in lines if line["day"] > 1
    )
    print(f"fitted anew minus updated: mean {100 * np.mean(late):.2f}, largest {100 * max(late):.2f} points of AUC")
    print(f"an update takes {ratio:.3f} of the time of a fit")
    if given.picture:
        draw(lines, given.picture)


if __name__ == "__main__":
    main()
