"""The rules of the house that no linter knows."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
SRC = HERE / "src" / "gvdn"
SOURCES = [path for path in SRC.rglob("*") if path.suffix in (".py", ".toml", ".jinja", ".js")]
ONLY_THERE = (SRC / "paper", SRC / "data" / "datasets")


@pytest.mark.parametrize("word", ["cora", "table3"])
def test_the_paper_and_the_catalogue_alone_know_the_papers_graphs_and_tables(word):
    assert len(SOURCES) > 100
    elsewhere = [path for path in SOURCES if not any(path.is_relative_to(home) for home in ONLY_THERE)]
    assert len(elsewhere) > 100
    assert [str(path) for path in elsewhere if re.search(rf"\b{word}\b", path.read_text(), re.IGNORECASE)] == []
    assert any(word in path.read_text().lower() for path in SOURCES)


def test_the_readme_fits_on_two_screens():
    assert len((HERE / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("rooms", ["gvdn.study", "gvdn.reports.page", "gvdn.paper.report", "gvdn"])
def test_these_rooms_import_no_torch(rooms):
    code = f"import sys, {rooms}; dir(gvdn); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PRIVATE = ("afterwards", "exposed", "unseen", "left the numbers", "louder", "believed")


@pytest.mark.parametrize("word", PRIVATE)
def test_words_that_only_we_used_are_gone(word):
    """DESIGN's table of words; keys of records keep three of them, in one table that says so."""
    found = [path for path in SOURCES if re.search(rf"\b{word}\b", path.read_text(), re.IGNORECASE)]
    assert [path for path in found if path != SRC / "study" / "cell.py"] == []


DRAWS = ("rand", "randn", "randint", "randperm", "bernoulli", "bernoulli_", "multinomial", "normal_", "uniform_")
GLOBAL = ("rand_like", "randn_like", "dropout", "manual_seed", "fork_rng", "seed_everything", "set_rng_state")


def calls(path: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Every call of an attribute, with the attribute's name and what it is taken of."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func.attr, ast.unparse(node.func.value)


ROOMS = sorted({path.parent for path in SRC.rglob("*.py")} - {SRC / "testing"})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_no_draw_uses_a_global_generator(room):
    for where, call, name, owner in ((path.name, *found) for path in room.glob("*.py") for found in calls(path)):
        said = f"{where}:{call.lineno} {owner}.{name}"
        if name in DRAWS and not owner.startswith(("np", "rng", "numpy")):
            assert any(keyword.arg == "generator" for keyword in call.keywords), f"{said} draws without a generator"
        if name in GLOBAL and owner in ("torch", "F", "torch.random", "torch.nn.functional", "torch.cuda"):
            pytest.fail(f"{said} uses torch's global generator")
        if owner == "np.random":
            assert name in ("default_rng", "get_state"), f"{said} uses numpy's global generator"
