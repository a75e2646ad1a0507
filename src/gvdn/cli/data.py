"""`gvdn data`: what is there, and what is in it."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import typer

from gvdn.cli import options
from gvdn.cli.console import count, decimal, print_json, print_table

app = typer.Typer(help="The graphs: which there are, and what is in one.", no_args_is_help=True)


@app.command("list")
def list_datasets(as_json: options.Json = False) -> None:
    """Every named graph and where it comes from."""
    from gvdn.data import DATASETS

    rows = [_listing(dataset) for dataset in DATASETS.values()]
    if as_json:
        print_json(rows)
        return
    lines = [
        [row["name"], row["about"] + (f" ({row['remark']})" if row["remark"] else ""), row["where"]] for row in rows
    ]
    caption = "Your own: gvdn data info FOLDER, with nodes and edges as CSV or Parquet."
    print_table("Graphs", ["name", "what it is", "where"], lines, caption, text=(1, 2))


@app.command()
def info(
    graph: options.Graph, edges: options.Edges = None, seed: options.Seed = 0, as_json: options.Json = False
) -> None:
    """The dataset table's row for one graph; the degree of test nodes is that of the random 10/20/70 split."""
    from gvdn.data import DATASETS, load_graph
    from gvdn.graph import random_split, statistics

    loaded = load_graph(graph, edges)
    numbers = statistics(loaded, random_split(loaded, seed=seed) if (loaded.labels >= 0).any() else None)
    known = DATASETS.get(graph)
    content: dict[str, Any] = dataclasses.asdict(numbers)
    content |= {
        "edges_published": known.published_edges if known else None,
        "class_names": list(loaded.class_names),
        "loops_dropped": loaded.dropped.loops,
        "duplicate_edges_dropped": loaded.dropped.duplicates,
        "remark": known.remark if known else "",
        "licence": known.licence if known else "",
        "hash": loaded.hash,
    }
    if as_json:
        print_json(content)
        return
    lines = [
        ["nodes", count(numbers.nodes)],
        ["edges, each once", count(numbers.edges)],
        ["edges, both directions", count(numbers.edges_both_directions)],
        ["edges, as published", count(content["edges_published"])],
        *_dropped(loaded),
        ["features", count(numbers.features)],
        ["features that are not zero", f"{numbers.feature_density:.2%}"],
        ["classes", count(numbers.classes)],
        ["labelled nodes", count(numbers.labelled)],
        ["isolated nodes", count(numbers.isolated)],
        ["average degree, with self-loop", decimal(numbers.average_degree)],
        ["… of test nodes", decimal(numbers.average_degree_test)],
        ["edge homophily", decimal(numbers.edge_homophily, 4)],
        ["content hash", loaded.hash[:12]],
        *([["licence", known.licence]] if known else []),
    ]
    title = numbers.name + (f" ({content['remark']})" if content["remark"] else "")
    print_table(title, ["", "value"], lines)


def _dropped(graph: Any) -> list[list[str]]:
    """What the edge table held besides edges, where it held anything."""
    found = {"self-loops, dropped": graph.dropped.loops, "repeated edges, dropped": graph.dropped.duplicates}
    return [[name, count(number)] for name, number in found.items() if number]


def _listing(dataset: Any) -> dict[str, Any]:
    found = Path(os.environ.get("GVDN_DATA") or "nowhere") / f"{dataset.name}.npz"
    where = (
        "in the package"
        if dataset.source == "bundled"
        else "$GVDN_DATA" + " or download" * bool(dataset.pyg and not found.exists())
    )
    return {"name": dataset.name, "about": dataset.about, "remark": dataset.remark, "where": where}
