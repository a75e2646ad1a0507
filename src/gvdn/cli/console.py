"""How commands print: tables, sentences, JSON, errors and progress."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def _console() -> Console:
    """Standard output as it is now."""
    return Console(highlight=False, soft_wrap=False)


def complain(sentence: str) -> None:
    """One line on standard error."""
    sys.stderr.write("error: " + " ".join(visible(sentence).split()) + "\n")


def visible(text: str) -> str:
    """The text with control characters written out, so that a name from a file cannot steer the terminal."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )


def print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


def print_table(
    title: str, columns: list[str], rows: list[list[str]], caption: str | None = None, *, text: tuple[int, ...] = ()
) -> None:
    """Print a table: the first column and those of text to the left, numbers to the right."""
    look: Any = {"title_justify": "left", "caption_justify": "left", "box": SIMPLE_HEAD, "padding": 0}
    table = Table(title=Text(visible(title)), caption=caption, **look)
    for number, column in enumerate(columns):
        left = number in (0, *text)
        table.add_column(Text(visible(column)), justify="left" if left else "right", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    _console().print(table)


def say(sentence: str) -> None:
    """Print a sentence as it is: brackets in it are no markup."""
    _console().print(visible(sentence), markup=False)


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


LEARNING = "learning how far links and rows can be trusted"


@contextmanager
def waiting(title: str = LEARNING) -> Iterator[None]:
    """A sign on the terminal that something goes on which cannot say how far it is: by default, saving a model."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(visible(title)):
        yield


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Any]:
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}", markup=False),
    )
    with Progress(TextColumn(visible(title), markup=False), *parts, console=screen, transient=True) as bar:
        task = bar.add_task(title, total=total, losses="")
        yield lambda **now: bar.update(task, **now)


def count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def counted(number: int, what: str) -> str:
    """1 run, 2 runs: a number before its noun, which gets an s."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def decimal(number: float | None, places: int = 2) -> str:
    return "–" if number is None else f"{number:.{places}f}"
