"""Curves, bars, dots and rows of dots as SVG text for a page: one picture per panel, each with its own legend.

A picture of several panels is their SVG texts in a row, so that a page can set them side by side or, on a narrow
screen, one below the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gvdn.reports.svg import (
    GREY,
    INK,
    INKED,
    WIDE,
    as_svg,
    colours,
    in_lines,
    legend_below,
    pyplot,
    sign,
    themed,
)

Value = tuple[float, float]
"""A mean and its standard deviation."""

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""Positions on the x axis, means, standard deviations."""

Dot = tuple[str, Value, Value]
"""The name of its shape, and its mean and standard deviation on x and on y."""

Looks = dict[str, tuple[str, str]]
"""Name -> its colour and its shape."""

CROWD = 24
"""The most points of a curve that are drawn one by one."""

SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
"""As many as have no divisor with the colours in common, so that a pair of both repeats only after 90 names."""

GROUP = 0.7
"""Inches of a group of bars: with seven of them a picture is not too wide for a phone."""

ASIDE = 0.32
"""Of the height of a row: how far from the middle a mark stands at most."""

NARROW = 3.7
"""Inches: three panels side by side on a wide page, one on a phone."""


def curves(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    xlabel: str,
    ylabels: Sequence[str],
    title: str,
    levels: Mapping[str, Mapping[str, Value]] | None = None,
    marked: tuple[str, Mapping[str, float]] = ("", {}),
    ylim: tuple[float, float] | None = None,
    log: bool = False,
) -> str:
    """One panel per group of curves: the mean as a line, one standard deviation as a band.

    `log` makes both axes logarithmic.
    `levels` are values that do not depend on x, drawn as level lines. `marked` is a name for a vertical line, and its
    position on the x axis of each panel that has one.
    """
    plt = pyplot()
    colour = colours([*panels.values(), *(levels or {}).values()])
    drawn = []
    with plt.rc_context(INKED):
        for (name, lines), ylabel in zip(panels.items(), ylabels, strict=True):
            figure, axis = plt.subplots(figsize=(NARROW, 2.9), layout="constrained")
            if log:
                _logarithmic(axis)
            for label, curve in lines.items():
                _line(axis, curve, label, colour[label])
            for label, (level, spread) in (levels or {}).get(name, {}).items():
                axis.axhline(level, color=colour[label], linewidth=1.4, linestyle="--", label=label)
                axis.axhspan(level - spread, level + spread, color=colour[label], alpha=0.12, linewidth=0)
            if name in marked[1]:
                axis.axvline(marked[1][name], color=GREY, linewidth=1, linestyle=":", label=marked[0])
            axis.set(title=name, xlabel=xlabel, ylabel=ylabel, **({"ylim": ylim} if ylim else {}))
            legend_below(figure, _labelled(axis))
            drawn.append(themed(as_svg(figure), _named(title, name)))
    return "".join(drawn)


def bars(
    panels: Mapping[str, Mapping[str, Sequence[Value | None]]], groups: Sequence[str], *, ylabel: str, title: str
) -> str:
    """In each panel a group of bars per name, one standard deviation as a whisker, and the legend below.

    A name without any value in a panel has no bar and no place in the legend there; a group without any value has no
    room there, and a panel without any is not drawn.
    """
    plt = pyplot()
    colour = colours(panels.values())
    drawn = []
    with plt.rc_context(INKED):
        for name, series in panels.items():
            there = {label: values for label, values in series.items() if any(values)}
            held = [number for number in range(len(groups)) if any(values[number] for values in there.values())]
            if not there:
                continue
            words = [in_lines(groups[group], 10) for group in held]
            size = max(4.0, 0.6 + GROUP * len(held)), 2.5 + 0.14 * max(word.count("\n") for word in words)
            figure, axis = plt.subplots(figsize=size, layout="constrained")
            for number, (label, values) in enumerate(there.items()):
                _bars(axis, [values[group] for group in held], colour[label], number=number, of=len(there))
            axis.set(title=name, ylabel=ylabel, ylim=(0, 103), xlim=(-0.55, len(held) - 0.45))
            axis.set_xticks(range(len(held)), words)
            handles = {label: plt.Rectangle((0, 0), 1, 1, color=colour[label]) for label in there}
            legend_below(figure, handles, within=WIDE / 72)
            drawn.append(themed(as_svg(figure), _named(title, name)))
    return "".join(drawn)


def dots(panels: Mapping[str, Mapping[str, Sequence[Dot]]], *, xlabel: str, ylabel: str, title: str) -> str:
    """One panel per group of dots: a colour per name, a shape per kind, one standard deviation as whiskers."""
    plt = pyplot()
    colour = colours(panels.values())
    kinds = dict.fromkeys(kind for named in panels.values() for dots in named.values() for kind, _, _ in dots)
    shape = dict(zip(kinds, SHAPES, strict=False))
    drawn = []
    with plt.rc_context(INKED):
        for name, named in panels.items():
            figure, axis = plt.subplots(figsize=(NARROW, 3.2), layout="constrained")
            for label, found in named.items():
                for kind, (x, x_spread), (y, y_spread) in found:
                    style = {"color": colour[label], "marker": shape[kind], "markersize": 5, "elinewidth": 0.7}
                    axis.errorbar(x, y, xerr=x_spread, yerr=y_spread, **style)
            axis.set(title=name, xlabel=xlabel, ylabel=ylabel)
            axis.set_xlim(left=0)
            axis.set_ylim(bottom=0)
            here = dict.fromkeys(kind for found in named.values() for kind, _, _ in found)
            names = {label: sign(plt, "o", colour[label]) for label in named}
            shapes = {kind: sign(plt, shape[kind], INK, fillstyle="none") for kind in here}
            legend_below(figure, names | shapes)
            drawn.append(themed(as_svg(figure), _named(title, name)))
    return "".join(drawn)


def dot_rows(
    panels: Mapping[str, Mapping[str, Mapping[str, Value]]],
    *,
    xlabel: str,
    title: str,
    wide: float = 4.9,
    high: float = 0.4,
    joined: bool = False,
    names: Sequence[str] = (),
) -> str:
    """In each panel a line per row with a mark per name, and one standard deviation as a whisker.

    Marks stand a little above or below their line, so that equal values do not cover each other, and every other row
    has a background. Every panel has the same x axis, and a name the same colour and shape in all of them; with the
    same `names`, of which a picture need not show all, also in several pictures. `wide` and `high` are the inches of a
    panel and of a row. Where the panels are `joined`, one below the other, their axes begin at the same place, and the
    label of the x axis and the legend stand under the last one alone.
    """
    plt = pyplot()
    rows = [marks for panel in panels.values() for marks in panel.values()]
    looks = _looks([*names, *(name for marks in rows for name in marks)])
    limits = _range([value for marks in rows for value in marks.values()])
    labelled = {name: [in_lines(row, 26) for row in panel] for name, panel in panels.items()}
    drawn: list[str] = []
    with plt.rc_context(INKED):
        for name, panel in panels.items():
            tall = sum(max(high, 0.16 * (label.count("\n") + 1)) for label in labelled[name])
            last = not joined or len(drawn) == len(panels) - 1
            figure, axis = plt.subplots(figsize=(wide, (1.15 if last else 0.55) + tall), layout="constrained")
            _rows(axis, list(panel.values()), looks)
            axis.set(title=in_lines(name, 48), xlim=limits, ylim=(len(panel) - 0.5, -0.5))
            axis.set_yticks(range(len(panel)), labelled[name])
            axis.tick_params(axis="y", length=0)
            axis.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
            axis.set_axisbelow(True)
            if joined:
                _room(axis, [label for labels in labelled.values() for label in labels])
            if last:
                axis.set_xlabel(xlabel)
                shown = _shown(rows if joined else list(panel.values()), looks)
                signs = {one: sign(plt, shape, colour, _size(shape)) for one, (colour, shape) in shown.items()}
                legend_below(figure, signs)
            drawn.append(themed(as_svg(figure), _named(title, name)))
    return "".join(drawn)


def _looks(names: Iterable[str]) -> Looks:
    """A colour and a shape for each name, by its place among the names."""
    colour = colours([dict.fromkeys(names)])
    return {name: (colour[name], SHAPES[number % len(SHAPES)]) for number, name in enumerate(colour)}


def _size(shape: str) -> int:
    """A star of the same size as the others looks smaller."""
    return 7 if shape == "*" else 5


def _shown(rows: Sequence[Mapping[str, Value]], looks: Looks) -> Looks:
    """The names that have a mark in some row, in their order."""
    return {name: look for name, look in looks.items() if any(name in marks for marks in rows)}


def _rows(axis: Any, rows: Sequence[Mapping[str, Value]], looks: Looks) -> None:
    """The marks of all rows on their lines, and a background behind every other row."""
    here = _shown(rows, looks)
    step = min(0.16, 2 * ASIDE / max(len(here) - 1, 1))
    aside = {name: step * (n - (len(here) - 1) / 2) for n, name in enumerate(here)}
    for number, marks in enumerate(rows):
        if number % 2 == 0:
            axis.axhspan(number - 0.5, number + 0.5, color=GREY, alpha=0.13, linewidth=0, zorder=0)
        means = [mean for mean, _ in marks.values()]
        axis.plot([min(means), max(means)], [number, number], color=GREY, linewidth=0.8, alpha=0.6, zorder=1)
        for name, (mean, spread) in marks.items():
            colour, shape = here[name]
            style = {"color": colour, "marker": shape, "markersize": _size(shape), "elinewidth": 0.8}
            axis.errorbar(mean, number + aside[name], xerr=spread or None, **style)


def _room(axis: Any, labels: Sequence[str]) -> None:
    """Keep as much room left of a panel as any of the labels needs, by writing each of them there, invisibly."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    for line in dict.fromkeys(line for label in labels for line in label.split("\n") if len(line) > longest - 4):
        here = {"xytext": (-3.5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        axis.annotate(line, (0, 0.5), xycoords="axes fraction", alpha=0.0, **here)


def _logarithmic(axis: Any) -> None:
    """Both axes, with powers of ten written out: the page has no fonts for exponents."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    for one in (axis.xaxis, axis.yaxis):
        one.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
        one.set_minor_formatter(lambda value, _: "")


def _range(values: Sequence[Value]) -> tuple[float, float]:
    """The x axis of all panels, in tens, with room for the whiskers."""
    low = min((mean - spread for mean, spread in values), default=0.0)
    return max(10 * ((low - 2) // 10), 0.0), 102.0


def _named(title: str, panel: str) -> str:
    return f"{title}: {panel}" if panel else title


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


def _labelled(axis: Any) -> dict[str, Any]:
    """The handles of a panel for its legend, each name once."""
    return {name: handle for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)}
