"""Static maps of embeddings: nodes in the plane, coloured by class, a panel for each state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gvdn.reports.svg import INK, INKED, as_svg, class_colours, legend_below, pyplot, sign, themed

MOST = 400
"""The most nodes in a panel; more would cover each other and make the page large."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Some nodes: positions in each state, true classes, which are victims, which are misclassified in each state."""

    positions: Mapping[str, Float[np.ndarray, "n 2"]]
    classes: Int[np.ndarray, " n"]
    class_names: Sequence[str]
    victims: Bool[np.ndarray, " n"] | None = None
    wrong: Mapping[str, Bool[np.ndarray, " n"]] = field(default_factory=dict)
    one_frame: bool = False
    """Whether all states were put into one map, so that the positions of a node can be compared."""

    def thinned(self, most: int = MOST) -> Cloud:
        """At most `most` nodes, evenly spaced over the order of the nodes."""
        n = len(self.classes)
        if n <= most:
            return self
        rows = np.linspace(0, n - 1, most).round().astype(int)
        return replace(
            self,
            positions={state: xy[rows] for state, xy in self.positions.items()},
            classes=self.classes[rows],
            victims=None if self.victims is None else self.victims[rows],
            wrong={state: mask[rows] for state, mask in self.wrong.items()},
        )


def cloud_rows(clouds: Mapping[str, Cloud], *, title: str, most: int = MOST) -> str:
    """A row of panels per cloud, a panel per state; victims are drawn larger, misclassified nodes as crosses."""
    plt = pyplot()
    with plt.rc_context(INKED):
        columns = max(len(cloud.positions) for cloud in clouds.values())
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
    axes = part.subplots(1, len(cloud.positions), squeeze=False, sharex=shared, sharey=shared)[0]
    for axis, state in zip(axes, cloud.positions, strict=True):
        _panel(axis, cloud, state)
        axis.set(title=state, xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel(name)


def _panel(axis: Any, cloud: Cloud, state: str) -> None:
    xy, colours = cloud.positions[state], class_colours(len(cloud.class_names))
    for layer, style in _layers(cloud, state):
        for number, colour in enumerate(colours):
            mine = layer & (cloud.classes == number)
            if mine.any():
                axis.scatter(xy[mine, 0], xy[mine, 1], color=colour, **style)


def _layers(cloud: Cloud, state: str) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Which nodes are drawn in which style, the faint ones first."""
    all_nodes = np.ones(len(cloud.classes), dtype=bool)
    victims = all_nodes if cloud.victims is None else cloud.victims
    wrong = cloud.wrong.get(state, ~all_nodes)
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
    """The legend of large dots, small dots and crosses, where there are any."""
    found: dict[str, Any] = {}
    if any(cloud.victims is not None for cloud in clouds):
        found |= {"victim": sign(plt, "o", INK, 4), "another node": sign(plt, "o", INK, 2, alpha=0.4)}
    if any(cloud.wrong for cloud in clouds):
        found |= {"misclassified": sign(plt, "x", INK, 4)}
    return found
