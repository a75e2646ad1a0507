"""Nodes in the plane, coloured by class, in one state after another: the static picture of an embedding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gvdn.reports.svg import INK, INKED, as_svg, class_colours, legend_below, pyplot, sign, themed

MOST = 400
"""Nodes in a panel; more cover each other and make the page heavy."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Some nodes: where they are in each state, their true classes, who is a victim, who is answered wrong when."""

    places: Mapping[str, Float[np.ndarray, "n 2"]]
    classes: Int[np.ndarray, " n"]
    class_names: Sequence[str]
    victims: Bool[np.ndarray, " n"] | None = None
    wrong: Mapping[str, Bool[np.ndarray, " n"]] = field(default_factory=dict)
    one_frame: bool = False
    """Whether all states were put into one map, so that a node's places can be compared."""

    def thinned(self, most: int = MOST) -> Cloud:
        """So many nodes at most, evenly spaced, so that every kind keeps its share."""
        n = len(self.classes)
        if n <= most:
            return self
        kept = np.linspace(0, n - 1, most).round().astype(int)
        return replace(
            self,
            places={state: xy[kept] for state, xy in self.places.items()},
            classes=self.classes[kept],
            victims=None if self.victims is None else self.victims[kept],
            wrong={state: mask[kept] for state, mask in self.wrong.items()},
        )


def class_maps(
    maps: Mapping[str, Float[np.ndarray, "n 2"]], labels: Int[np.ndarray, " n"], class_names: Sequence[str]
) -> str:
    """One panel per map: every node as a point, coloured by its true class, with one legend below."""
    return cloud_rows({"": Cloud(maps, labels, class_names)}, title="Embeddings in the plane", most=len(labels))


def cloud_rows(clouds: Mapping[str, Cloud], *, title: str, most: int = MOST) -> str:
    """A row of panels per cloud, a panel per state; victims are drawn stronger, wrong answers as crosses."""
    plt = pyplot()
    with plt.rc_context(INKED):
        columns = max(len(cloud.places) for cloud in clouds.values())
        side = min(3.9, 11.7 / columns)
        figure = plt.figure(figsize=(side * columns, side * len(clouds) + 0.5), layout="constrained")
        parts = figure.subfigures(len(clouds), 1, squeeze=False)[:, 0]
        names = [tuple(cloud.class_names) for cloud in clouds.values()]
        for part, (name, cloud), mine, below in zip(parts, clouds.items(), names, [*names[1:], None], strict=True):
            _row(part, name, cloud.thinned(most))
            if mine != below:
                legend_below(part, _class_signs(plt, cloud), most=9)
        signs = _kind_signs(plt, list(clouds.values()))
        if signs:
            legend_below(figure, signs)
        return themed(as_svg(figure), title)


def _row(part: Any, name: str, cloud: Cloud) -> None:
    shared = cloud.one_frame
    axes = part.subplots(1, len(cloud.places), squeeze=False, sharex=shared, sharey=shared)[0]
    for axis, state in zip(axes, cloud.places, strict=True):
        _panel(axis, cloud, state)
        axis.set(title=state, xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel(name)


def _panel(axis: Any, cloud: Cloud, state: str) -> None:
    xy, colours = cloud.places[state], class_colours(len(cloud.class_names))
    for layer, style in _layers(cloud, state):
        for number, colour in enumerate(colours):
            mine = layer & (cloud.classes == number)
            if mine.any():
                axis.scatter(xy[mine, 0], xy[mine, 1], color=colour, **style)


def _layers(cloud: Cloud, state: str) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Who is drawn how, the faint ones first."""
    everybody = np.ones(len(cloud.classes), dtype=bool)
    victims = everybody if cloud.victims is None else cloud.victims
    wrong = cloud.wrong.get(state, ~everybody)
    strong = 5 if cloud.victims is None else 13
    yield ~victims & ~wrong, _DOT | {"s": 5, "alpha": 0.4}
    yield ~victims & wrong, _CROSS | {"s": 8, "alpha": 0.4}
    yield victims & ~wrong, _DOT | {"s": strong}
    yield victims & wrong, _CROSS | {"s": strong}


_DOT = {"marker": "o", "linewidths": 0}
_CROSS = {"marker": "x", "linewidths": 1.1}


def _class_signs(plt: Any, cloud: Cloud) -> dict[str, Any]:
    pairs = zip(cloud.class_names, class_colours(len(cloud.class_names)), strict=True)
    return {name: sign(plt, "o", colour, 5, markeredgewidth=0) for name, colour in pairs}


def _kind_signs(plt: Any, clouds: Sequence[Cloud]) -> dict[str, Any]:
    """What a large dot, a small one and a cross mean, where there are any."""
    found: dict[str, Any] = {}
    if any(cloud.victims is not None for cloud in clouds):
        found |= {"victim": sign(plt, "o", INK, 4), "another node": sign(plt, "o", INK, 2, alpha=0.4)}
    if any(cloud.wrong for cloud in clouds):
        found |= {"answered wrong": sign(plt, "x", INK, 4)}
    return found
