"""Natural churn: some links are exchanged by others of the same kind."""

import dataclasses

import numpy as np

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.trust.links import not_linked

CHURN = 0.01
"""The share of the links that natural churn exchanges."""


def churned(graph: Graph, classes: Positions, rng: np.random.Generator, share: float = CHURN) -> Graph:
    """The graph in which a share of the links is exchanged by links between random nodes of the same two classes.

    Args:
        classes: the class of each node, as the model's answers say.
    """
    edges = graph.edges
    number = min(len(edges), max(1, round(share * len(edges)))) if len(edges) else 0
    gone = rng.choice(len(edges), number, replace=False)
    ends = classes[edges[gone]]
    drawn = np.zeros_like(ends)
    for one in np.unique(ends):
        of_class, there = np.flatnonzero(classes == one), ends == one
        drawn[there] = rng.choice(of_class, int(there.sum()))
    left = np.delete(edges, gone, axis=0)
    pairs = np.concatenate([left, not_linked(graph, drawn)])
    return dataclasses.replace(graph, adjacency=adjacency_from_pairs(pairs, graph.num_nodes))
