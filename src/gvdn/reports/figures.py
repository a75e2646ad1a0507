"""Curves, bars and dots as SVG text for a page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gvdn.reports.svg import GREY, INK, INKED, as_svg, colours, legend_below, pyplot, sign, themed

Value = tuple[float, float]
"""A mean and its standard deviation."""

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""Positions on the x axis, means, standard deviations."""

Dot = tuple[str, Value, Value]
"""The name of its shape, and its mean and standard deviation on x and on y."""

CROWD = 24
"""The most points of a curve that are drawn one by one."""

SHAPES = ("o", "s", "^", "D", "v", "P")


def curves(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    xlabel: str,
    ylabels: Sequence[str],
    title: str,
    levels: Mapping[str, Mapping[str, Value]] | None = None,
    marked: tuple[str, Mapping[str, float]] = ("", {}),
    ylim: tuple[float, float] | None = None,
) -> str:
    """One panel per group of curves: the mean as a line, one standard deviation as a band.

    `levels` are values that do not depend on x, drawn as level lines. `marked` is a name for a vertical line, and its
    position on the x axis of each panel that has one.
    """
    plt = pyplot()
    with plt.rc_context(INKED):
        figure, axes = _grid_of_panels(plt, len(panels))
        colour = colours([*panels.values(), *(levels or {}).values()])
        for axis, (name, lines), ylabel in zip(axes, panels.items(), ylabels, strict=True):
            for label, curve in lines.items():
                _line(axis, curve, label, colour[label])
            for label, (level, spread) in (levels or {}).get(name, {}).items():
                axis.axhline(level, color=colour[label], linewidth=1.4, linestyle="--", label=label)
                axis.axhspan(level - spread, level + spread, color=colour[label], alpha=0.12, linewidth=0)
            if name in marked[1]:
                axis.axvline(marked[1][name], color=GREY, linewidth=1, linestyle=":", label=marked[0])
            axis.set(title=name, xlabel=xlabel, ylabel=ylabel, **({"ylim": ylim} if ylim else {}))
        legend_below(figure, _labelled(axes))
        return themed(as_svg(figure), title)


def bars(
    panels: Mapping[str, Mapping[str, Sequence[Value | None]]], groups: Sequence[str], *, ylabel: str, title: str
) -> str:
    """One panel below the other; in each, a group of bars per name, one standard deviation as a whisker.

    A name without any value in a panel has no bar there.
    """
    plt = pyplot()
    with plt.rc_context(INKED):
        size = (max(5.2, 1.25 * len(groups)), 2.5 * len(panels))
        figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.12)
        colour = colours(panels.values())
        for axis, (name, series) in zip(axes.flat, panels.items(), strict=True):
            there = {label: values for label, values in series.items() if any(values)}
            for number, (label, values) in enumerate(there.items()):
                _bars(axis, values, colour[label], number=number, of=len(there))
            axis.set(title=name, ylabel=ylabel, ylim=(0, 103), xlim=(-0.55, len(groups) - 0.45))
            axis.set_xticks(range(len(groups)), groups)
        shown = [name for name in colour if any(any(series.get(name, ())) for series in panels.values())]
        legend_below(figure, {name: plt.Rectangle((0, 0), 1, 1, color=colour[name]) for name in shown})
        return themed(as_svg(figure), title)


def dots(panels: Mapping[str, Mapping[str, Sequence[Dot]]], *, xlabel: str, ylabel: str, title: str) -> str:
    """One panel per group of dots: a colour per name, a shape per kind, one standard deviation as whiskers."""
    plt = pyplot()
    with plt.rc_context(INKED):
        figure, axes = _grid_of_panels(plt, len(panels))
        colour = colours(panels.values())
        kinds = dict.fromkeys(kind for named in panels.values() for dots in named.values() for kind, _, _ in dots)
        shape = dict(zip(kinds, SHAPES, strict=False))
        for axis, (name, named) in zip(axes, panels.items(), strict=True):
            for label, found in named.items():
                for kind, (x, x_spread), (y, y_spread) in found:
                    style = {"color": colour[label], "marker": shape[kind], "markersize": 5, "elinewidth": 0.7}
                    axis.errorbar(x, y, xerr=x_spread, yerr=y_spread, **style)
            axis.set(title=name, xlabel=xlabel, ylabel=ylabel)
            axis.set_xlim(left=0)
            axis.set_ylim(bottom=0)
        names = {name: sign(plt, "o", colour[name]) for name in colour}
        legend_below(figure, names | {kind: sign(plt, shape[kind], INK, fillstyle="none") for kind in kinds}, most=6)
        return themed(as_svg(figure), title)


def _grid_of_panels(plt: Any, count: int) -> tuple[Any, list[Any]]:
    """A figure with `count` panels, three in a row."""
    columns = min(count, 3)
    rows = -(-count // columns)
    size = (3.7 * columns, 2.7 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat)[:count]


def _line(axis: Any, curve: Curve, label: str, colour: str) -> None:
    x, mean, std = (np.asarray(values) for values in curve)
    marker = "o" if len(x) <= CROWD else None
    axis.plot(x, mean, marker=marker, markersize=3, linewidth=1.4, color=colour, label=label)
    axis.fill_between(x, mean - std, mean + std, color=colour, alpha=0.16, linewidth=0)


def _bars(axis: Any, values: Sequence[Value | None], colour: str, *, number: int, of: int) -> None:
    """The bars of one name: one in each group that has a value."""
    width = 0.8 / of
    there = [(group + (number + 0.5) * width - 0.4, *one) for group, one in enumerate(values) if one]
    x, means, deviations = zip(*there, strict=True)
    axis.bar(x, means, width * 0.92, yerr=deviations, error_kw={"elinewidth": 0.8, "ecolor": INK}, color=colour)


def _labelled(axes: Sequence[Any]) -> dict[str, Any]:
    """The handles of all panels for one legend, each name once."""
    pairs = [pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    return {name: handle for handle, name in pairs}
