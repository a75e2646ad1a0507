"""The rules of the house that no linter knows."""

import re
import subprocess
import sys
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
