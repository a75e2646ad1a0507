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


def write_accounts(folder: Path) -> Path:
    """Sixty accounts with columns of every kind, and links of two relations with weights."""
    nodes = ["id,label,row,age,city,joined,vip,bio"]
    for n in range(60):
        age = "N/A" if n == 16 else str(20 + n * 7 % 50)
        city, joined = ("Rome", "Oslo", "Bern")[n % 3], f"2025-{n % 12 + 1:02d}-{n % 28 + 1:02d}"
        side = "fraud" if n % 2 else "legit"
        nodes.append(f"acc-{n:02d},{side},{n},{age},{city},{joined},{('yes', 'no')[n % 2]},who {n} is")
    edges = ["source,target,weight,relation"]
    for n in range(60):
        edges.append(f"acc-{n:02d},acc-{(n + 2) % 60:02d},{1 + n % 5 / 2},transfer")
        edges.append(f"acc-{n:02d},acc-{(n + 5) % 60:02d},0.5,device")
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")
    return folder


def settings(**chosen: object) -> list[str]:
    """As `--set KEY=VALUE` words."""
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


def write_folders_of_parquet(tables: Path, folder: Path, rows: int = 25) -> None:
    """The two tables of a folder as folders of Parquet files, some rows in each."""
    from pyarrow import csv as pacsv
    from pyarrow import parquet as pq

    for name in ("nodes", "edges"):
        table = pacsv.read_csv(tables / f"{name}.csv")
        (folder / name).mkdir(parents=True)
        for number, first in enumerate(range(0, table.num_rows, rows)):
            pq.write_table(table.slice(first, rows), folder / name / f"piece-{number:03d}.parquet")
        (folder / name / "_SUCCESS").touch()
