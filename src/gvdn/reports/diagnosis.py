"""The page of a diagnosis, from plain values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gvdn.reports.page import TEMPLATES, rendered, write_whole
from gvdn.reports.svg import GREY, INKED, PALETTE, as_svg, pyplot, themed

NEVER = 1e9
"""A threshold that no score reaches, of a graph without links."""

ADVICE = {
    "nothing": "Nothing needs to be done.",
    "update": "Update the model with this graph (gvdn update).",
    "recover": "Recover on this graph (gvdn recover), and look at the nodes below.",
    "fit anew": "Fit a new model on a graph that you trust (gvdn train).",
}

COUNTS = {
    "nodes": "nodes", "new_nodes": "new nodes", "vanished_nodes": "vanished nodes", "changed_rows": "changed rows",
    "suspicious_nodes": "suspicious nodes",
    "links": "links", "new_links": "new links", "lost_links": "lost links", "changed_answers": "changed answers",
    "suspicious_links": "suspicious links",
}  # fmt: skip
"""The numbers of a summary in the order of the page, in two lines of five, with their names there."""


def write_diagnosis(path: Path, summary: Mapping[str, Any], scores: Float[np.ndarray, " n"], threshold: float) -> None:
    """Write the page of a diagnosis: the verdict, what to do, the scores of all nodes, the ranked nodes and links.

    Args:
        summary: what `Diagnosis.summary` gives.
        scores: the score of every node.
        threshold: the score from which a node is suspicious.
    """
    html = rendered(
        TEMPLATES / "diagnosis.html.jinja",
        title=f"{summary['graph']}: {'perturbed' if summary['perturbed'] else 'not perturbed'}",
        found=summary,
        advice=ADVICE[summary["advice"]],
        counts=[(name, f"{summary[key]:,}") for key, name in COUNTS.items()],
        picture=score_picture(scores, threshold),
        threshold=threshold,
    )
    write_whole(path, html)


def score_picture(scores: Float[np.ndarray, " n"], threshold: float) -> str:
    """How many nodes have which score, on a scale of log(1 + score), and the threshold."""
    plt = pyplot()
    with plt.rc_context(INKED):
        figure, axis = plt.subplots(figsize=(5, 2.4), layout="constrained")
        shown, limit = np.log1p(scores), np.log1p(threshold) if threshold < NEVER else None
        top = max(float(shown.max(initial=0)), limit or 0, 1e-3) * 1.02
        edges = np.linspace(0, top, 41)
        for part, colour, name in (
            (shown[scores <= threshold], PALETTE[0], "as under natural churn"),
            (shown[scores > threshold], PALETTE[1], "suspicious"),
        ):
            axis.hist(part, bins=edges, color=colour, label=f"{name} ({len(part):,})")
        if limit is not None:
            axis.axvline(limit, color=GREY, linewidth=1, linestyle=":")
        ticks = np.array([0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000])
        ticks = ticks[np.log1p(ticks) <= top]
        axis.set_xticks(np.log1p(ticks), [f"{tick:,}" for tick in ticks])
        axis.set_yscale("function", functions=(np.log1p, np.expm1))
        axis.set_yticks([10**power for power in range(len(str(len(scores))))])
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.yaxis.set_minor_locator(plt.NullLocator())
        axis.set(ylim=(0, None), xlim=(0, top), xlabel="score of a node (nats)", ylabel="nodes")
        axis.legend(frameon=False, loc="upper right")
        return themed(as_svg(figure), "The scores of all nodes")
