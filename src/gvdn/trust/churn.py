"""Natural churn of a graph whose classes are a model's answers; the exchange itself is the perturbation's."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph, Positions
from gvdn.graph.edges import are_among
from gvdn.graph.graph import adjacency_from_pairs, edge_keys
from gvdn.perturbations.natural_churn import CHURN as CHURN
from gvdn.perturbations.natural_churn import exchange
from gvdn.trust.rows import Pairs


def churned(graph: Graph, classes: Positions, rng: np.random.Generator, share: float = CHURN) -> Graph:
    """The graph in which a share of the links is exchanged by links between random nodes of the same two classes.

    A new link has the mean weight of those that stay.

    Args:
        classes: the class of each node, as the model's answers say.
    """
    removed, added = exchange(graph, classes, rng, share)
    left, new = _without(graph.adjacency, removed), adjacency_from_pairs(added, graph.num_nodes)
    typical = float(left.data.mean()) if left.nnz else 1.0
    return dataclasses.replace(graph, adjacency=sp.csr_array(left + typical * new))


def _without(adjacency: sp.csr_array, pairs: Pairs) -> sp.csr_array:
    """The matrix without the entries of these links; the others keep their values."""
    entries, number = adjacency.tocoo(), adjacency.shape[0]
    every = edge_keys(np.stack([entries.row, entries.col], axis=1).astype(np.int64), number)  # sorted, as CSR is
    kept = ~are_among(every, edge_keys(np.concatenate([pairs, pairs[:, ::-1]]), number))
    starts = np.concatenate([[0], np.cumsum(kept)])[adjacency.indptr]
    return sp.csr_array((adjacency.data[kept], adjacency.indices[kept], starts), shape=adjacency.shape)
