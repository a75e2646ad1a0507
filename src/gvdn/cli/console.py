"""How commands print: tables, sentences, JSON, errors and progress."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
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


def flowing(text: str) -> str:
    """Paragraphs as one line each, for the terminal to break; a list keeps its lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(part if part.startswith("Args:") else " ".join(part.split()) for part in paragraphs)


def print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


def print_table(
    title: str, columns: list[str], rows: list[list[str]], caption: str | None = None, *, text: tuple[int, ...] = ()
) -> None:
    """Print a table: the first column and those of text to the left, numbers to the right.

    No number is cut or broken: on a terminal that is too narrow the columns are printed in several tables, each with
    the first column, and where the output is no terminal lines are as long as they have to be.
    """
    console, heads = _console(), [visible(column) for column in columns]
    cells = [[visible(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        console.width = UNLIMITED
    fixed = _widths_of_numbers(heads, cells, console.width, left={0, *text}) if console.is_terminal else {}
    groups = _groups(heads, cells, fixed, console.width)
    look: Any = {"title_justify": "left", "caption_justify": "left", "box": SIMPLE_HEAD, "padding": 0}
    for group in groups:
        table = Table(**look)
        table.title = Text(visible(title)) if group is groups[0] else None
        table.caption = caption if group is groups[-1] else None
        for number in group:
            justify: Any = "left" if number in (0, *text) else "right"
            table.add_column(Text(heads[number]), justify=justify, overflow="fold", width=fixed.get(number))
        for row in cells:
            table.add_row(*(Text(row[number]) for number in group))
        console.print(table)


UNLIMITED = 100_000
"""The width of the output where it is no terminal."""
NARROW = 16
"""A column of text is made no narrower than this for the sake of another column."""


def _widths_of_numbers(heads: list[str], cells: list[list[str]], room: int, *, left: set[int]) -> dict[int, int]:
    """The width of each column with numbers: that of its widest cell, or of the longest word of its heading.

    One that takes nearly all of the room is broken between words, as text is.
    """
    widths = {
        number: max(_width(head.replace(" ", "\n")), *(_width(row[number]) for row in cells))
        for number, head in enumerate(heads)
        if number not in left and any(sign.isdigit() for row in cells for sign in row[number])
    }
    return {number: width for number, width in widths.items() if width <= room - NARROW}


def _groups(heads: list[str], cells: list[list[str]], fixed: dict[int, int], room: int) -> list[list[int]]:
    """The columns of each table: the first one, and as many of the others as fit beside it."""
    natural = [max(_width(row[number]) for row in (heads, *cells)) for number in range(len(heads))]
    needed = [fixed.get(number, min(width, NARROW)) for number, width in enumerate(natural)]
    needed[0] = min(natural[0], 6 * room // 10)
    groups = [[0]]
    for number in range(1, len(heads)):
        wide = 1 + sum(needed[one] + 1 for one in (*groups[-1], number))
        if wide > room and len(groups[-1]) > 1:
            groups.append([0])
        groups[-1].append(number)
    return groups


def _width(text: str) -> int:
    """Of the longest line."""
    return max(map(cell_len, text.split("\n")))


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
