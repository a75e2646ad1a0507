import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from commands import Done, run_inside, settings, write_tables
from small_models import SMALL


@pytest.fixture
def tmp_path(tmp_path) -> Path:
    """A folder of the same name for every test: a random split depends on the graph's name, which is its folder's."""
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def gvdn(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a user would: a process of its own, in an empty folder."""

    def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gvdn", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **(env or {})},
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def inside(tmp_path) -> Callable[..., Done]:
    """Runs the command line in this process, in an empty folder: the same words, a fraction of the time."""
    return partial(run_inside, tmp_path)


@pytest.fixture
def tables(tmp_path) -> Path:
    return write_tables(tmp_path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Callable[..., Path]:
    """A model of a method on the tables, trained once for all tests with small settings: to be read only."""
    folder = write_tables(tmp_path_factory.mktemp("models"))
    # Without validation nodes the last weights are kept, so that every model has learned something.
    parts = [f"p{number:02d},{'train' if number % 4 == 0 else 'test'}" for number in range(40)]
    (folder / "parts.csv").write_text("\n".join(["id,part", *parts]) + "\n")

    def train(word: str, **changes: object) -> Path:
        method, small = SMALL[word]
        name = "-".join([word, *(f"{key}-{value}" for key, value in changes.items())])
        if not (folder / name).exists():
            words = ["train", ".", "-o", name, "--method", method, "--split", "parts.csv"]
            done = run_inside(folder, *words, *settings(**(small | changes)))
            assert done.returncode == 0, done.stderr
        return folder / name

    return train
