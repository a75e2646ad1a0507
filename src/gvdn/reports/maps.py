"""Maps of embeddings from records: the static pictures, the data of the interactive one, and class separation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from gvdn.reports.class_maps import Cloud, cloud_rows
from gvdn.reports.grids import why_empty
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.svg import class_colours
from gvdn.reports.tables import Line, Table, compared
from gvdn.study import Mode

MAPPED = (Mode.MAPPED, Mode.MAPPED_BY_EPOCH)
"""Modes whose records have a map."""

FINE = 1000
"""Steps along the longer side of the interactive map, finer than a screen shows."""


def map_picture(joined: Joined) -> str:
    """A row of maps for each row and dataset of the spec, a panel for each state; the first seed alone."""
    return cloud_rows({name: _cloud(found) for name, found in _found(joined).items()}, title=joined.spec.title)


def interactive_map(joined: Joined) -> str | None:
    """The same maps with all of their nodes as JSON for map.js, safe inside a page; None without a record."""
    maps = [_data(name, found) for name, found in _found(joined).items()]
    text = json.dumps(maps, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c") if maps else None


def separation_table(joined: Joined) -> Table:
    """A line per map: the silhouette of the victims' true classes in each state."""
    states = next((_states(record.map) for record in joined.records if record.map), [])
    lines = []
    for runs in (one for one in joined.runs if one.mode in MAPPED):
        found = [runs.summary(f"separation.{state}") for state in states]
        usual, why = len(joined.spec.seeds), why_empty(runs)
        entries = [compared(one, None, usual=usual, digits=3, why=why) for one in found]
        lines.append(Line(_name(joined, runs), entries))
    note = (
        "Silhouette of the victims' true classes in the embedding itself, not in the map: about 0 where classes "
        "overlap, 1 where they lie far apart, negative where nodes lie nearer to another class."
    )
    return Table("separation of the classes", states, lines, note)


def _found(joined: Joined) -> dict[str, dict[str, Any]]:
    """Name of a map -> the map in the record of the first seed."""
    first = [(_name(joined, runs), runs.records[min(runs.records)].map) for runs in joined.runs if runs.records]
    return {name: found for name, found in first if found}


def _name(joined: Joined, runs: Runs) -> str:
    """The row, the dataset or both: whatever differs between the maps of a spec."""
    words = [runs.row.label] * (len(joined.spec.rows) > 1) + [runs.dataset] * (len(joined.spec.datasets) > 1)
    return ", ".join(words) or runs.dataset


def _states(found: dict[str, Any]) -> list[str]:
    """Sorted by name, which is their order in time: clean, perturbed, recovered; epoch 200 to 500."""
    return sorted(
        found["states"], key=lambda name: [(len(word), word) if word.isdigit() else (0, word) for word in name.split()]
    )


def _class_names(found: dict[str, Any]) -> list[str]:
    """The names of the classes; of a graph that only numbers them, "class 0" and so on."""
    return [f"class {name}" if name.isdigit() else name for name in found["class_names"]]


def _cloud(found: dict[str, Any]) -> Cloud:
    classes, states = np.asarray(found["classes"]), found["states"]
    return Cloud(
        {state: np.asarray(states[state]["xy"], dtype=float).reshape(-1, 2) for state in _states(found)},
        classes,
        _class_names(found),
        victims=np.asarray(found["victims"], dtype=bool),
        wrong={state: np.asarray(states[state]["answers"]) != classes for state in _states(found)},
        one_frame=True,
    )


def _data(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """A map as map.js reads it, with all states in one frame."""
    states = _states(found)
    xy = np.asarray([found["states"][state]["xy"] for state in states], dtype=float)
    low = xy.min(axis=(0, 1))
    span = max(float((xy.max(axis=(0, 1)) - low).max()), 1e-9)
    return {
        "name": name,
        "states": states,
        "class_names": _class_names(found),
        "colours": class_colours(len(found["class_names"])),
        "ids": found["ids"],
        "classes": found["classes"],
        "victims": found["victims"],
        "xy": ((xy - low) * FINE / span).round().astype(int).tolist(),
        "answers": [found["states"][state]["answers"] for state in states],
    }
