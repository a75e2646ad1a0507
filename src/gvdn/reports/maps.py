"""Maps of embeddings from records: the static picture, the data of the interactive one, and class separation."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gvdn.reports.grids import why_empty
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.svg import INK, INKED, as_svg, class_colours, legend_below, pyplot, sign, themed
from gvdn.reports.tables import Line, Table, compared
from gvdn.study import Mode

MAPPED = (Mode.MAPPED, Mode.MAPPED_BY_EPOCH)
"""Modes whose records have a map."""

MOST = 400
"""The most nodes in a panel of the static picture; more would cover each other and make the page large."""

FINE = 1000
"""Steps along the longer side of the interactive map, finer than a screen shows."""

CAPTION = (
    "The first seed. Colour: the true class. Large: a victim; small and pale: another node, at most 400 in a panel. "
    "Cross: misclassified in that state."
)
NOTE = (
    "Silhouette of the victims' true classes in the embedding itself, not in the map: about 0 where classes "
    "overlap, 1 where they lie far apart, negative where nodes lie nearer to another class."
)


def map_picture(joined: Joined) -> str:
    """A row of maps for each row and dataset of the spec, a panel for each state; the first seed alone."""
    return map_rows(_found(joined), title=joined.spec.title)


def map_rows(maps: Mapping[str, dict[str, Any]], *, title: str) -> str:
    """A row of panels for each map, one for each state; victims are drawn larger, misclassified nodes as crosses."""
    plt = pyplot()
    with plt.rc_context(INKED):
        columns = max(len(found["states"]) for found in maps.values())
        side = min(3.9, 11.7 / columns)
        figure = plt.figure(figsize=(side * columns, side * len(maps) + 0.5), layout="constrained")
        parts = figure.subfigures(len(maps), 1, squeeze=False)[:, 0]
        names = [_class_names(found) for found in maps.values()]
        for part, (name, found), mine, below in zip(parts, maps.items(), names, [*names[1:], None], strict=True):
            _draw_row(part, name, found)
            if mine != below:
                pairs = zip(mine, class_colours(len(mine)), strict=True)
                signs = {name: sign(plt, "o", colour, 5, markeredgewidth=0) for name, colour in pairs}
                legend_below(part, signs, most=9)
        kinds = {"victim": sign(plt, "o", INK, 4), "another node": sign(plt, "o", INK, 2, alpha=0.4)}
        legend_below(figure, kinds | {"misclassified": sign(plt, "x", INK, 4)})
        return themed(as_svg(figure), title)


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
        usual, why = runs.asked, why_empty(runs)
        lines.append(Line(_name(joined, runs), [compared(one, None, usual=usual, digits=3, why=why) for one in found]))
    return Table("separation of the classes", states, lines, NOTE)


def evenly_spaced(n: int, most: int = MOST) -> Int[np.ndarray, " m"]:
    """At most `most` of the positions 0 to n - 1, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(int)


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


def _draw_row(part: Any, name: str, found: dict[str, Any]) -> None:
    """The panels of one map; all states are in one frame, so that the positions of a node can be compared."""
    rows = evenly_spaced(len(found["classes"]))
    classes, victims = np.asarray(found["classes"])[rows], np.asarray(found["victims"], dtype=bool)[rows]
    axes = part.subplots(1, len(found["states"]), squeeze=False, sharex=True, sharey=True)[0]
    for axis, state in zip(axes, _states(found), strict=True):
        xy = np.asarray(found["states"][state]["xy"], dtype=float).reshape(-1, 2)[rows]
        wrong = np.asarray(found["states"][state]["answers"])[rows] != classes
        _draw_nodes(axis, xy, classes, victims, wrong, class_colours(len(found["class_names"])))
        axis.set(title=state, xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel(name)


def _draw_nodes(
    axis: Any,
    xy: Float[np.ndarray, "n 2"],
    classes: Int[np.ndarray, " n"],
    victims: Bool[np.ndarray, " n"],
    wrong: Bool[np.ndarray, " n"],
    colours: list[str],
) -> None:
    dot, cross = {"marker": "o", "linewidths": 0}, {"marker": "x", "linewidths": 1.1}
    layers = (
        (~victims & ~wrong, dot | {"s": 5, "alpha": 0.4}),
        (~victims & wrong, cross | {"s": 8, "alpha": 0.4}),
        (victims & ~wrong, dot | {"s": 13}),
        (victims & wrong, cross | {"s": 13}),
    )
    for layer, style in layers:
        for number, colour in enumerate(colours):
            mine = layer & (classes == number)
            if mine.any():
                axis.scatter(xy[mine, 0], xy[mine, 1], color=colour, **style)


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
