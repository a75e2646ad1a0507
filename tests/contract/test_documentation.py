"""Commands and code of README and docs are run as they stand; so are the examples in docstrings."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_inside, write_accounts

import gvdn

HERE = Path(__file__).parents[2]
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text())]


def runnable(page: Path) -> bool:
    return any(kind in ("console", "python") for kind, _ in blocks(page))


def test_these_pages_have_code():
    assert {page.stem for page in PAGES if runnable(page)} >= {
        "README",
        "quickstart",
        "my-graph",
        "own-study",
        "extending",
    }


@pytest.fixture
def accounts(tmp_path):
    """The folders that the pages speak of: a user's graph, and the same graph later, with a node that links to many."""
    for name in ("accounts", "accounts-today"):
        (tmp_path / name).mkdir()
        write_accounts(tmp_path / name)
    with (tmp_path / "accounts-today" / "edges.csv").open("a") as edges:
        edges.writelines(f"acc-07,acc-{number:02d},1,transfer\n" for number in range(20, 50))
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=lambda page: page.stem)
def test_what_a_page_says_can_be_done_can_be_done(page, accounts):
    for kind, text in blocks(page):
        name = re.match(r"# (\S+\.(?:py|toml))\n", text)
        if name:
            (accounts / name[1]).write_text(text)
        if kind == "python":
            ran = subprocess.run(
                [sys.executable, "-c", text], cwd=accounts, capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, f"{text}\n{ran.stderr}"
        if kind == "console":
            for line in text.splitlines():
                command = line.removeprefix("$ gvdn ").partition("  #")[0].split()
                assert line.startswith("$ gvdn "), line
                done = run_inside(accounts, *command)
                assert done.returncode == 0, f"{line}\n{done.stderr}"


MODULES = sorted(name for _, name, _ in pkgutil.walk_packages(gvdn.__path__, "gvdn.") if not name.endswith("__main__"))


def test_examples_in_docstrings_give_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = 0
    for name in MODULES:
        results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
        assert results.failed == 0, name
        tried += results.attempted
    assert tried > 30


def test_the_public_names_are_explained_by_example():
    shown = ["Graph", "Split", "random_split", "load_graph", "perturb", "replay", "GVDN", "make_method", "load_model"]
    assert [name for name in shown if ">>>" not in (getattr(gvdn, name).__doc__ or "")] == []
