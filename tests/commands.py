"""The command line inside this process, and tables to give it: for tests of many small commands."""

import inspect
import io
import os
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from gvdn.cli.app import app, main, root

# The tests' type checker stands aside here: typer hands root(version) what the option's callback returned, None.
app.registered_callback.callback = inspect.unwrap(root)


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def run_inside(folder: Path, *words: object) -> Done:
    """`gvdn WORDS` in a folder, without a second of its own for a process; an exception of ours comes through."""
    out, errors = io.StringIO(), io.StringIO()
    screen = patch.dict(os.environ, {"COLUMNS": "120", "NO_COLOR": "1"})
    with chdir(folder), screen, redirect_stdout(out), redirect_stderr(errors), _argv(words):
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    return Done(code, out.getvalue(), errors.getvalue())


@contextmanager
def _argv(words: tuple[object, ...]) -> Iterator[None]:
    with patch.object(sys, "argv", ["gvdn", *map(str, words)]):
        yield


def write_tables(folder: Path) -> Path:
    """Forty people in two circles of friends, as a user would bring them."""
    people = [
        f"p{number:02d},{'left' if number < 20 else 'right'},{int(number % 3 == 0)},{int(number < 20)}"
        for number in range(40)
    ]
    (folder / "nodes.csv").write_text("\n".join(["id,label,x,y", *people]) + "\n")
    friends = [(a, (a + step) % 20) for a in range(20) for step in (1, 2)]
    edges = [f"p{a + side:02d},p{b + side:02d}" for a, b in friends for side in (0, 20)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    return folder


def settings(**chosen: object) -> list[str]:
    """As `--set KEY=VALUE` words."""
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
