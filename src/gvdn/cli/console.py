"""What all commands share: where they print, how they say no, and how a graph is named."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from gvdn.errors import InvalidInput

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
SplitOption = Annotated[
    Path | None, typer.Option("--split", help="A CSV of id and part (train, val, test); random 10/20/70 if not given.")
]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:1.")]
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
    table = Table(
        title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD, padding=0
    )
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    return table


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """`key=value` words as numbers, booleans or text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"expected --set KEY=VALUE, got {pair!r}")
        settings[key.strip().replace("-", "_")] = _literal(value.strip())
    return settings


@contextmanager
def progress(title: str, epochs: int) -> Iterator[Callable[[int, dict[str, float]], None] | None]:
    """A callback that moves a bar on the terminal; None where there is no terminal to move it on."""
    with _bar(title, epochs) as move:

        def told(epoch: int, losses: dict[str, float]) -> None:
            move(completed=epoch, losses="  ".join(f"{name} {value:.3f}" for name, value in losses.items()))

        yield told if move else None


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """As `progress`, for work that says how much is done and of how much."""
    with _bar(title, None) as move:
        yield (lambda done, of: move(completed=done, total=of)) if move else None


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Any]:
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[losses]}"))
    with Progress(TextColumn(title), *parts, console=screen, transient=True) as bar:
        task = bar.add_task(title, total=total, losses="")
        yield lambda **now: bar.update(task, **now)


def progress_file(output: Path, run: str, *content: bytes) -> Path:
    """Beside the output, named by everything the run depends on, so that only the same run goes on from it."""
    name = hashlib.sha256(b"\x1f".join([run.encode(), *content])).hexdigest()[:12]
    return output.parent / f".{output.name}-{name}.progress.safetensors"


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def decimal(number: float | None, places: int = 2) -> str:
    return "–" if number is None else f"{number:.{places}f}"


def _literal(value: str) -> bool | int | float | str:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value
