"""Pictures as SVG text, ready to stand inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

LOSS_NAMES = {"ce": "cross entropy", "kl": "KL divergence", "df": "diffusion", "nm": "embedding match"}


def loss_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """One panel per history: each loss, divided by its largest value, over the epochs."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(histories), figsize=(4.4 * len(histories), 2.9), squeeze=False)
    for axis, (title, history) in zip(axes[0], histories.items(), strict=True):
        for name, label in LOSS_NAMES.items():
            values = np.array([epoch[name] for epoch in history if name in epoch])
            if values.size:
                axis.plot(np.arange(1, len(values) + 1), values / max(values.max(), 1e-12), label=label, linewidth=1.4)
        axis.set(title=title, xlabel="epoch", ylabel="loss / its maximum", ylim=(0, 1.05))
        axis.legend(frameon=False, fontsize=8)
    return _svg(figure)


def class_maps(
    maps: Mapping[str, Float[np.ndarray, "n 2"]], labels: Int[np.ndarray, " n"], class_names: Sequence[str]
) -> str:
    """One panel per map: every node as a point, coloured by its true class, with one legend below."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(maps), figsize=(3.9 * len(maps), 4.3), squeeze=False)
    colours = plt.get_cmap("tab10" if len(class_names) <= 10 else "tab20")
    for axis, (title, points) in zip(axes[0], maps.items(), strict=True):
        for number, name in enumerate(class_names):
            mine = labels == number
            axis.scatter(points[mine, 0], points[mine, 1], s=5, linewidths=0, color=colours(number), label=name)
        axis.set(title=title, xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="lower center", ncols=min(len(names), 9), frameon=False, markerscale=3, fontsize=9
    )
    figure.subplots_adjust(bottom=0.14, wspace=0.03, left=0.01, right=0.99)
    return _svg(figure, tight=False)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "gvdn", "font.size": 9, "axes.titlesize": 10, "svg.fonttype": "path"})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    return plt


def _svg(figure: Any, *, tight: bool = True) -> str:
    """The figure as SVG, the same bytes for the same picture."""
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight" if tight else None, metadata={"Date": None})
    plt.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


PALETTE = ("#0c7bb3", "#d55e00", "#129e73", "#cc6fa3", "#c98a00", "#7a6ff0", "#7f8790")
"""Seen on white and on black, and told apart by most colour-blind eyes."""

INK = "#010203"
"""Stands for the text colour of the page, whatever that is."""

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""Places on the x axis, means, standard deviations."""


def curves(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    xlabel: str,
    ylabels: Sequence[str],
    title: str,
    levels: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
    upright: Mapping[str, float] | None = None,
) -> str:
    """One panel per group of curves: the mean as a line, one standard deviation as a band.

    `levels` are means and deviations that do not depend on x, drawn as level lines; `upright` marks a place on x.
    """
    plt, columns = _pyplot(), min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with plt.rc_context(_INKED):
        size = (3.7 * columns, 2.7 * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.12)
        colours = _colours([*panels.values(), *(levels or {}).values()])
        for axis, (name, lines), ylabel in zip(axes.flat, panels.items(), ylabels, strict=False):
            for label, curve in lines.items():
                x, mean, std = (np.asarray(values) for values in curve)
                axis.plot(x, mean, marker="o", markersize=3, linewidth=1.4, color=colours[label], label=label)
                axis.fill_between(x, mean - std, mean + std, color=colours[label], alpha=0.16, linewidth=0)
            for label, (level, spread) in (levels or {}).get(name, {}).items():
                axis.axhline(level, color=colours[label], linewidth=1.4, linestyle="--", label=label)
                axis.axhspan(level - spread, level + spread, color=colours[label], alpha=0.12, linewidth=0)
            if upright and name in upright:
                axis.axvline(upright[name], color=PALETTE[-1], linewidth=1, linestyle=":", label="the paper's choice")
            axis.set(title=name, xlabel=xlabel, ylabel=ylabel)
        for axis in list(axes.flat)[len(panels) :]:
            axis.set_visible(False)
        pairs = [pair for axis in axes.flat for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
        _legend_below(figure, {name: handle for handle, name in pairs})
        return _themed(_svg(figure), title)


def bars(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float] | None]]],
    groups: Sequence[str],
    *,
    ylabel: str,
    title: str,
    floor: float = 0.0,
) -> str:
    """One panel below the other; in each, a group of bars per name, one standard deviation as a whisker."""
    plt = _pyplot()
    with plt.rc_context(_INKED):
        size = (max(5.2, 1.25 * len(groups)), 2.5 * len(panels))
        figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.12)
        for axis, (name, series) in zip(axes.flat, panels.items(), strict=True):
            width = 0.8 / max(len(series), 1)
            for place, values in enumerate(series.values()):
                there = [(group + (place + 0.5) * width - 0.4, *one) for group, one in enumerate(values) if one]
                x, means, deviations = zip(*there, strict=True) if there else ((), (), ())
                whiskers = {"elinewidth": 0.8, "ecolor": INK}
                axis.bar(x, means, width * 0.92, yerr=deviations, error_kw=whiskers, color=PALETTE[place])
            axis.set(title=name, ylabel=ylabel, ylim=(floor, 103), xlim=(-0.55, len(groups) - 0.45))
            axis.set_xticks(range(len(groups)), groups)
        names = dict.fromkeys(label for series in panels.values() for label in series)
        patches = [plt.Rectangle((0, 0), 1, 1, color=PALETTE[place]) for place in range(len(names))]
        _legend_below(figure, dict(zip(names, patches, strict=True)))
        return _themed(_svg(figure), title)


_INKED = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK) | {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def _colours(groups: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each name, the same in every panel."""
    names = dict.fromkeys(label for group in groups for label in group)
    return {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(names)}


def _legend_below(figure: Any, found: Mapping[str, Any]) -> None:
    columns = max(min(len(found), 5), 1)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _themed(svg: str, title: str) -> str:
    """In the text colour of the page, and with words for those who do not see it."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    words = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace(INK, "currentColor").replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
