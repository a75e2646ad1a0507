"""The guard: feature rows of a larger norm than any of the clean graph are scaled down."""

import dataclasses

import numpy as np
from jaxtyping import Bool

from gvdn.graph import Graph
from gvdn.trust.rows import l1_norms, scaled_rows


def guarded(graph: Graph, max_norm: float) -> Graph:
    """The graph in which a feature row whose L1 norm exceeds `max_norm` is scaled to the norm max_norm^2 / norm.

    The same graph if there is no such row.
    """
    norms, above = l1_norms(graph.features), np.flatnonzero(outliers(graph, max_norm))
    if not above.size:
        return graph
    scale = np.ones(graph.num_nodes)
    scale[above] = (max_norm / norms[above]) ** 2
    return dataclasses.replace(graph, features=scaled_rows(graph.features, scale))


def outliers(graph: Graph, max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether the L1 norm of each feature row exceeds `max_norm`, by more than rounding."""
    return l1_norms(graph.features) > max_norm * (1 + 1e-5)
