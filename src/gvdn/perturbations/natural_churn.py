"""Natural churn: what a graph does without anybody's ill will, some links exchanged by others of the same kind."""

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import not_linked
from gvdn.perturbations.family import Plan, labelled_victims, perturbation
from gvdn.perturbations.receipt import Changes, Pairs
from gvdn.seeds import generator

CHURN = 0.01
"""The share of the links that natural churn exchanges."""


@perturbation("natural-churn")
def natural_churn(
    graph: Graph, candidates: Positions, *, seed: int, share: float = CHURN, victim_fraction: float = 1.0
) -> Plan:
    """A share of the links is exchanged by links between random nodes of the same two classes; nobody is attacked.

    The classes are the labels; unlabelled nodes count as one more class. All candidates are victims, or a part of them,
    which are scored: a defence should change nothing here. With `share=0` no link is exchanged.
    """
    if not 0 <= share <= 1:
        raise InvalidInput(f"expected a share of the links in [0, 1], got {share}; give 0.01 for one link in a hundred")
    victims = candidates if victim_fraction == 1 else labelled_victims(graph, candidates, seed, victim_fraction)
    if share == 0:
        return Plan(Changes(), victims)
    removed, added = exchange(graph, graph.labels, generator(seed, "perturb", "natural-churn", graph.name), share)
    return Plan(Changes(added=added, removed=removed), victims)


def exchange(graph: Graph, classes: Positions, rng: np.random.Generator, share: float) -> tuple[Pairs, Pairs]:
    """The links that churn removes, and those that it adds between random nodes of the same two classes.

    At least one link is removed where there is any. Of the drawn pairs, those that are loops, links already or there
    twice are left out, so that slightly fewer links may be added than removed.

    Args:
        classes: the class of each node: its label, or a model's answer.
    """
    edges = graph.edges
    number = min(len(edges), max(1, round(share * len(edges)))) if len(edges) else 0
    gone = rng.choice(len(edges), number, replace=False)
    ends = classes[edges[gone]]
    drawn = np.zeros_like(ends)
    for one in np.unique(ends):
        of_class, there = np.flatnonzero(classes == one), ends == one
        drawn[there] = rng.choice(of_class, int(there.sum()))
    return edges[np.sort(gone)], not_linked(graph, drawn)
