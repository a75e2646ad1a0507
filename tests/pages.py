"""The commands and the code of a page, run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

from commands import run_inside, write_accounts

BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text())]


def runnable(page: Path) -> bool:
    return any(kind in ("console", "python") for kind, _ in blocks(page))


def write_folders(folder: Path) -> Path:
    """The folders of the pages: a user's graph, the same later with a node that links to many, and without it."""
    for name in ("accounts", "accounts-today", "accounts-tomorrow"):
        (folder / name).mkdir()
        write_accounts(folder / name)
    with (folder / "accounts-today" / "edges.csv").open("a") as edges:
        edges.writelines(f"acc-07,acc-{number:02d},1,transfer\n" for number in range(20, 50))
    return folder


def do_what_it_says(page: Path, folder: Path) -> None:
    """Every command and every piece of code of a page, one after another, in a folder."""
    for kind, text in blocks(page):
        name = re.match(r"# (\S+\.(?:py|toml))\n", text)
        if name:
            (folder / name[1]).write_text(text)
        if kind == "python":
            words = [sys.executable, "-c", text]
            ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, f"{text}\n{ran.stderr}"
        if kind == "console":
            for line in text.splitlines():
                command = line.removeprefix("$ gvdn ").partition("  #")[0].split()
                assert line.startswith("$ gvdn "), line
                done = run_inside(folder, *command)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
