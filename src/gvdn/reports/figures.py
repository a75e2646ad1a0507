"""Pictures as SVG text, ready to stand inside a page."""

from __future__ import annotations

import io
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
