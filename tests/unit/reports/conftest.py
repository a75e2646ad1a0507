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


COUNTS = {
    "nodes": 2708,
    "edges": 5278,
    "edges_both_directions": 10556,
    "features": 1433,
    "classes": 7,
    "average_degree_test": 4.9,
    "edge_homophily": 0.81,
}
WHERE = {"device": "cpu, 1 threads", "gvdn": "0.1.0", "torch": "2.0", "python": "3.11.7", "commit": "abc1234"}


def record(cell, mode, accuracy=0.8, **others):
    """What `measure` leaves of a run, with the numbers asked for."""
    if mode == "counts":
        return cell.heading(mode) | WHERE | {"counts": COUNTS} | others
    measured = {"accuracy": accuracy, "entropy": 0.3, "ece": 0.05, "brier": 0.4, "nodes": 10}
    clean = {"clean": {**measured, "accuracy": others.pop("clean", 0.82), "entropy": others.pop("clean_entropy", 0.4)}}
    seconds = {"fit": 1.0, "answer": 0.5} | ({"recover": 2.0} if "recovered" in mode else {})
    found = cell.heading(mode) | measured | {"seconds": seconds, "peak_mib": 100.0, "validation": None} | WHERE
    return found | ({} if mode.startswith("in training") else clean) | kept_besides(mode) | others


def kept_besides(mode):
    """What the record of such a mode holds besides the scores."""
    if mode == "recovered, mapped":
        return mapped(("clean", "perturbed", "recovered"))
    if mode == "recovered, mapped on the way":
        return mapped(("epoch 200", "epoch 300", "epoch 400", "epoch 500"))
    if mode == "recovered, losses kept":
        return {"losses": {"fit": losses("ce", "kl", "df"), "recover": losses("ce", "kl", "df", "nm")}}
    return {"seconds_each": 1.0} if mode == "streamed" else {}


def mapped(states):
    """Four nodes of two classes on the corners of a square that turns; the first two are victims, one is wrong."""
    corners = [[0.0, 0.0], [10.0, 0.0], [10.0, 5.0], [0.0, 5.0]]
    turned = [corners[turn % 4 :] + corners[: turn % 4] for turn in range(len(states))]
    return {
        "map": {
            "ids": ["a", "b", "c", "d"],
            "classes": [0, 1, 0, 1],
            "victims": [1, 1, 0, 0],
            "class_names": ["Theory", "<Neural & Co>"],
            "states": {state: {"xy": xy, "answers": [0, 0, 0, 1]} for state, xy in zip(states, turned, strict=True)},
        },
        "separation": dict.fromkeys(states, 0.1),
    }


def losses(*names, end=0.0):
    """Twenty epochs that fall from 1 to 0.5 in the first ten and by `end` in the last two."""
    values = [1.0 - 0.05 * min(epoch, 10) for epoch in range(18)] + [0.5 - end] * 2
    return {"epochs": list(range(1, 101, 5)), **dict.fromkeys(names, values)}


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
