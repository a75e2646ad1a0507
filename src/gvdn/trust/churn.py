"""Natural churn: some links are exchanged by others of the same kind."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs, edge_keys
from gvdn.trust.links import not_linked
from gvdn.trust.rows import Pairs

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
    left, new = _without(graph.adjacency, edges[gone]), adjacency_from_pairs(not_linked(graph, drawn), graph.num_nodes)
    typical = float(left.data.mean()) if left.nnz else 1.0
    return dataclasses.replace(graph, adjacency=sp.csr_array(left + typical * new))


def _without(adjacency: sp.csr_array, pairs: Pairs) -> sp.csr_array:
    """The matrix without the entries of these links; the others keep their values."""
    entries, number = adjacency.tocoo(), adjacency.shape[0]
    ends = np.sort(np.stack([entries.row, entries.col], axis=1).astype(np.int64), axis=1)
    kept = ~np.isin(edge_keys(ends, number), edge_keys(pairs, number))
    rows, columns, values = entries.row[kept], entries.col[kept], entries.data[kept]
    return sp.csr_array((values, (rows, columns)), shape=adjacency.shape)
