"""Records made by hand: a number for every run of a spec."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gvdn.reports.joined import Joined, joined_from
from gvdn.study import Cell, Mode, Record, Scores, Spec

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
SCORES = Scores(accuracy=0.8, entropy=0.3, ece=0.05, brier=0.4, nodes=10)
POISONED = (Mode.POISONING, Mode.POISONING_RECOVERED, Mode.POISONING_TRUSTED)


def record(cell: Cell, mode: Mode, **said) -> Record:
    """A record of a run with the scores and fields that are asked for; `clean` is an accuracy."""
    if "error" in said:
        return Record(cell=cell, mode=mode, error=said["error"])
    if mode == Mode.COUNTS:
        return Record(cell=cell, mode=mode, counts=said.get("counts", COUNTS), **WHERE)
    scores = {name: said.pop(name) for name in ("accuracy", "entropy") if name in said}
    clean = replace(SCORES, accuracy=said.pop("clean", 0.82), entropy=said.pop("clean_entropy", 0.4))
    seconds = {"fit": 1.0, "answer": 0.5} | ({"recover": 2.0} if "recovered" in mode else {})
    content = {
        "scores": replace(SCORES, **scores),
        "clean": None if mode in POISONED else clean,
        "seconds": seconds,
        "peak_mib": 100.0,
        **WHERE,
        **recorded_besides(mode),
    }
    return Record(cell=cell, mode=mode, **(content | said))


def recorded_besides(mode):
    """What the record of such a mode holds besides the scores."""
    if mode == Mode.MAPPED:
        return mapped(("clean", "perturbed", "recovered"))
    if mode == Mode.MAPPED_BY_EPOCH:
        return mapped(("epoch 200", "epoch 300", "epoch 400", "epoch 500"))
    if mode == Mode.WITH_LOSSES:
        return {"losses": {"fit": losses("ce", "kl", "df"), "recover": losses("ce", "kl", "df", "nm")}}
    return {"seconds_each": 1.0} if mode == Mode.STREAMED else {}


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


def records(spec: Spec, say: Callable[..., dict | float | None]) -> list[Record]:
    """For every run of the spec what `say` says of it: an accuracy, the fields of a record, or None for no record."""
    found = []
    for cell, modes in spec.tasks():
        for mode in modes:
            said = say(cell, mode)
            if isinstance(said, float):
                said = {"accuracy": said + noise(cell) + noise(cell, mode)}
            if said is not None:
                found.append(record(cell, mode, **said))
    return found


def joined_of(spec: Spec, say: Callable[..., dict | float | None]) -> Joined:
    """The spec with such records, in memory."""
    return joined_from(spec, {one.key: one for one in records(spec, say)})


def measured(folder: Path, spec: Spec, say: Callable[..., dict | float | None]) -> Path:
    """The folder, with such records in `<spec>.jsonl`."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(one.to_json()) + "\n" for one in records(spec, say)]
    (folder / f"{spec.name}.jsonl").write_text("".join(lines))
    return folder
