"""What all commands share: where they print, how they say no, and how a graph is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset name (gvdn data list), a folder of tables, an npz file, or a table of nodes.",
    ),
]
EdgesOption = Annotated[
    Path | None, typer.Option("--edges", help="The table of edges, when GRAPH is a table of nodes.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn at random.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an output folder that gvdn wrote before.")]


def console() -> Console:
    """Standard output as it is now."""
    return Console(highlight=False, soft_wrap=False)


def complain(sentence: str) -> None:
    """One line on standard error."""
    sys.stderr.write("error: " + " ".join(sentence.split()) + "\n")


def print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


def plain_table(title: str, columns: list[str], rows: list[list[str]], caption: str | None = None) -> Table:
    """A table with the first column to the left and numbers to the right."""
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def decimal(number: float | None, places: int = 2) -> str:
    return "–" if number is None else f"{number:.{places}f}"
