"""The tables of docs/graphs.md, drawn from the catalogue, results/heterophilous and results/structure.jsonl.

PYTHONPATH=src python benchmarks/graphs_page.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from drawn_pages import filled

from gvdn.data import DATASETS, Dataset
from gvdn.reports.page import write_whole

ROOT = Path(__file__).parent.parent
PAGE = "docs/graphs.md"
GENERATED, STRUCTURE = ROOT / "results" / "heterophilous" / "heterophilous.jsonl", ROOT / "results" / "structure.jsonl"
SPLITS = {"ogb": "as published, by year", "platonov": "as published, ten of them"}
LINES = {
    ("gcn", "new"): "GCN",
    ("gcn", "new, trusted"): "GCN, trust in front",
    ("gcn", "new, weighed"): "… its own answers on the judged graph",
    ("gcn", "new, rows alone"): "… what rows say",
    ("gcn", "new, links alone"): "… what links say",
    ("gvdn", "new"): "GVDN",
    ("gvdn", "recovered, new"): "GVDN, recovered",
    ("gcn-jaccard", "new"): "GCN-Jaccard",
    ("mlp", "new"): "MLP",
}
ASKED = {
    "clean": "clean",
    "new, clean": "new",
    "new, wrong links": "new, wrong links",
    "new, wrong links, trusted": "… with trust",
    "new, wrong links, recovered": "… recovered",
}


def tables() -> dict[str, str]:
    """Every table by its name in the page."""
    return {"catalogue": catalogue(), "generated": generated(read(GENERATED)), "structure": structure(read(STRUCTURE))}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def catalogue() -> str:
    lines = []
    for name, one in DATASETS.items():
        split = "by time" if name == "growing" else SPLITS.get(one.source, "random")
        lines.append([f"`{name}`", one.about, split, _checked(one), one.licence])
    return table(["name", "what it is", "split", "a download is checked by", "licence"], lines)


def _checked(dataset: Dataset) -> str:
    if dataset.is_with_package:
        return "none is needed"
    return "content hash" if dataset.hash else "published counts" if dataset.counts else "its format"


def generated(records: list[dict[str, Any]]) -> str:
    """A line for each method, a column for each graph, as it is and with wrong links."""
    found = defaultdict(list)
    for record in records:
        cell = record["cell"]
        found[cell["method"], record["mode"], cell["dataset"], cell["perturbation"]].append(record["accuracy"])
    columns = [(graph, kind) for graph in ("heterophilous", "growing") for kind in ("natural-churn", "wrong-links")]
    words = {"natural-churn": "as it is", "wrong-links": "wrong links"}
    head = ["", *(f"`{graph}`, {words[kind]}" for graph, kind in columns)]
    return table(
        head, [[label, *(_mean(found[*line, *column]) for column in columns)] for line, label in LINES.items()]
    )


def structure(records: list[dict[str, Any]]) -> str:
    """A line for each graph, method and kind of features."""
    found = defaultdict(list)
    for record in records:
        found[record["dataset"], record["method"], record["variant"]].append(record["accuracy"])
    lines = []
    for (dataset, method, variant), every in found.items():
        numbers = [_mean([one[name] for one in every if name in one]) for name in ASKED]
        lines.append([dataset, method.upper(), variant, str(len(every)), *numbers])
    return table(["graph", "method", "features", "seeds", *ASKED.values()], sorted(lines, key=lambda line: line[:2]))


def _mean(values: Sequence[float]) -> str:
    """Mean and standard deviation in %."""
    if not values:
        return "–"
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def main() -> None:
    write_whole(ROOT / PAGE, filled((ROOT / PAGE).read_text(encoding="utf-8"), tables()))


if __name__ == "__main__":
    main()
