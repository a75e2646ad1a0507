"""`gvdn data`: what is there, and what is in it."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import typer

from gvdn.cli import graphs, options
from gvdn.cli.console import count, decimal, print_json, print_table, say

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
    graph: options.Graph,
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """The dataset table's row for one graph, and for a table what becomes of each of its columns.

    The degree of test nodes is that of the split that came with the graph, else of the random 10/20/70 split.
    """
    from gvdn.data import DATASETS
    from gvdn.graph import choose_split, statistics

    loaded = graphs.load(graph, edges, column=column, relation=relation, quiet=True)
    numbers = statistics(loaded, choose_split(loaded, seed=seed) if (loaded.labels >= 0).any() else None)
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
        "published": None if loaded.published is None else _published(loaded),
        "edge_weights": _weights(loaded),
        "columns": _columns(loaded),
        "notes": list(loaded.notes),
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
        *(
            [["edge weights", "{smallest:,.6g} to {largest:,.6g}".format(**weights)]]
            if (weights := _weights(loaded))
            else []
        ),
        ["features", count(numbers.features)],
        ["features that are not zero", f"{numbers.feature_density:.2%}"],
        ["classes", count(numbers.classes)],
        ["labelled nodes", count(numbers.labelled)],
        ["isolated nodes", count(numbers.isolated)],
        ["average degree, with self-loop", decimal(numbers.average_degree)],
        ["… of test nodes", decimal(numbers.average_degree_test)],
        ["edge homophily", decimal(numbers.edge_homophily, 4)],
        ["content hash", loaded.hash[:12]],
        *([["splits and times", repr(loaded.published)]] if loaded.published is not None else []),
        *([["licence", known.licence]] if known else []),
    ]
    title = numbers.name + (f" ({content['remark']})" if content["remark"] else "")
    print_table(title, ["", "value"], lines)
    if content["columns"]:
        rows = [
            [one["name"], one["kind"], one["becomes"], count(one["missing"]), ", ".join(one["examples"])]
            for one in content["columns"]
        ]
        print_table("columns", ["", "kind", "what becomes of it", "missing", "examples"], rows[:SHOWN], text=(1, 2, 4))
        if len(rows) > SHOWN:
            say(f"… and {len(rows) - SHOWN:,} more columns; --json lists all of them")
    graphs.tell(loaded)


SHOWN = 40
"""Columns that are printed."""


def _columns(graph: Any) -> list[dict[str, Any]]:
    """What becomes of each column of the node table."""
    names = ("name", "kind", "becomes", "missing", "examples", "features")
    every = graph.columns.columns if graph.columns else ()
    rows = [{name: getattr(one, name) for name in names} for one in every]
    return [row | {"examples": list(row["examples"]), "features": list(row["features"])} for row in rows]


def _published(graph: Any) -> dict[str, Any]:
    """What came with the graph besides its content."""
    times = graph.published.times
    since = None if times is None or not len(times) else [int(times.min()), int(times.max())]
    return {"splits": graph.published.num_splits, "times": since}


def _weights(graph: Any) -> dict[str, float] | None:
    if not graph.is_weighted:
        return None
    return {"smallest": float(graph.edge_weights.min()), "largest": float(graph.edge_weights.max())}


def _dropped(graph: Any) -> list[list[str]]:
    """What the edge table held besides edges, where it held anything."""
    found = {"self-loops, dropped": graph.dropped.loops, "repeated edges, dropped": graph.dropped.duplicates}
    return [[name, count(number)] for name, number in found.items() if number]


def _listing(dataset: Any) -> dict[str, Any]:
    found = Path(os.environ.get("GVDN_DATA") or "nowhere") / f"{dataset.name}.npz"
    where = (
        {"bundled": "in the package", "generated": "generated when it is loaded"}[dataset.source]
        if dataset.is_with_package
        else "$GVDN_DATA" + " or download" * bool(dataset.can_be_downloaded and not found.exists())
    )
    return {"name": dataset.name, "about": dataset.about, "remark": dataset.remark, "where": where}
