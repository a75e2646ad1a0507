"""Records made by hand: a number for every run of a spec."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gvdn.experiments.spec import load_spec

TINY = """
title = "Table 9: a tiny one"
about = "Two rows, two graphs."
datasets = ["cora", "debian"]
seeds = [0, 1, 2]

[[row]]
method = "gvdn"
modes = ["afterwards", "recovered"]

[[row]]
method = "gcn"
modes = ["afterwards", "in training"]
datasets = ["cora"]
"""


def record(cell, mode, accuracy=0.8, **others):
    """What `measure` leaves of a run, with the numbers asked for."""
    measured = {"accuracy": accuracy, "entropy": 0.3, "ece": 0.05, "brier": 0.4, "nodes": 10}
    clean = {"clean": {**measured, "accuracy": others.pop("clean", 0.82), "entropy": others.pop("clean_entropy", 0.4)}}
    seconds = {"fit": 1.0, "answer": 0.5} | ({"recover": 2.0} if "recovered" in mode else {})
    where = {"device": "cpu, 1 threads", "gvdn": "0.1.0", "torch": "2.0", "python": "3.11.7", "commit": "abc1234"}
    found = cell.heading(mode) | measured | {"seconds": seconds, "peak_mib": 100.0, "validation": None} | where
    return found | ({} if mode.startswith("in training") else clean) | others


def noise(cell, mode=""):
    """A little of it, the same every time; without a mode, what all methods on these victims share."""
    return random.Random(f"{cell.asked() if mode else (cell.dataset, cell.seed)}{mode}").gauss(0, 0.002)


def measured(folder: Path, spec, say: Callable[..., dict | float | None]) -> Path:
    """Write `<spec>.jsonl`: for every run an accuracy, the fields of a record, or None for a run that is missing."""
    lines = []
    for cell, modes in spec.tasks():
        for mode in modes:
            said = say(cell, mode)
            if isinstance(said, float):
                said = {"accuracy": said + noise(cell) + noise(cell, mode)}
            if said is not None:
                failed = "error" in said
                lines.append(cell.heading(mode) | said if failed else record(cell, mode, **said))
    folder.mkdir(exist_ok=True)
    (folder / f"{spec.name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def tiny(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    return load_spec(str(tmp_path / "tiny.toml"))
