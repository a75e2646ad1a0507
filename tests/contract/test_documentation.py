"""Commands and code of README and docs are run as they stand; so are the examples in docstrings."""

import doctest
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import do_what_it_says, runnable, write_folders

import gvdn

HERE = Path(__file__).parents[2]
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))]
NEEDS_RAY = ("more-machines",)
"""Pages that are tried in tests/cluster."""


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
    return write_folders(tmp_path)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if runnable(page) and page.stem not in NEEDS_RAY], ids=lambda page: page.stem
)
def test_what_a_page_says_can_be_done_can_be_done(page, accounts):
    do_what_it_says(page, accounts)


APART = ("__main__", *(() if find_spec("triton") else ("row_kernels", "adam_kernel")))  # kernels of Triton
MODULES = sorted(name for _, name, _ in pkgutil.walk_packages(gvdn.__path__, "gvdn.") if not name.endswith(APART))


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
