"""How many neighbours the two ends of a link share."""

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.trust.rows import Pairs

PIECE = 1 << 21
"""Neighbours that are looked up at a time."""


def common_neighbours(graph: Graph, pairs: Pairs) -> Float[np.ndarray, " m"]:
    """For each pair, the sum over common neighbours of 1 / log(2 + degree) (after Adamic and Adar, 2003).

    The neighbours of the end that has fewer are looked up among the links, a piece at a time.
    """
    n, degrees, A = graph.num_nodes, graph.degrees, graph.adjacency
    fewer = degrees[pairs[:, 0]] <= degrees[pairs[:, 1]]
    first, second = np.where(fewer, pairs[:, 0], pairs[:, 1]), np.where(fewer, pairs[:, 1], pairs[:, 0])
    keys, worth = edge_keys(graph.edges, n), 1 / np.log(2.0 + degrees)
    ends = np.cumsum(degrees[first])
    found = np.zeros(len(pairs))
    start = 0
    while start < len(pairs):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + PIECE)))
        counts = degrees[first[start:stop]]
        which = np.repeat(np.arange(start, stop), counts)
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        near = A.indices[A.indptr[first[which]] + offset].astype(np.int64)
        wanted = np.sort(np.stack([near, second[which]], axis=1), axis=1)
        key = edge_keys(wanted, n)
        there = keys[np.minimum(np.searchsorted(keys, key), len(keys) - 1)] == key
        found += np.bincount(which[there], weights=worth[near[there]], minlength=len(pairs))
        start = stop
    return found
