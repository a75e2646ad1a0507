"""`gvdn demo`: the story on the bundled graph."""

from __future__ import annotations

from gvdn.cli.console import console
from gvdn.cli.data import info
from gvdn.cli.perturb import changes_table


def demo(seed: int = 0) -> None:
    """Show the bundled graph, perturb it, and show what changed."""
    from gvdn.data import load_graph
    from gvdn.graph import random_split
    from gvdn.perturbations import perturb

    info("debian", seed=seed)
    graph = load_graph("debian")
    split = random_split(graph, seed=seed)
    for kind in ("random-connections", "information-sparsity"):
        console().print(changes_table(graph, perturb(graph, kind, split, seed=seed)))
