"""Flips of links as numbers: a pair of nodes is one key, and a graph is the keys of its edges."""

import numpy as np
from jaxtyping import Int64

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.receipt import Changes, Pairs

Keys = Int64[np.ndarray, "_"]
"""Pairs of nodes as `edge_keys` numbers them, in ascending order."""


def drawn_keys(u: Int64[np.ndarray, "_"], v: Int64[np.ndarray, "_"], nodes: int) -> Keys:
    """The keys of pairs without loops, given u drawn from all nodes and v drawn from one less; each once."""
    other = v + (v >= u)
    return np.unique(np.minimum(u, other) * nodes + np.maximum(u, other))


def all_keys(nodes: int) -> Keys:
    """The keys of all pairs of nodes; for small graphs."""
    u, v = np.triu_indices(nodes, 1)
    return (u * nodes + v).astype(np.int64)


def pairs_of(keys: Keys, nodes: int) -> Pairs:
    """The pairs that keys stand for, as (smaller, larger)."""
    return np.stack([keys // nodes, keys % nodes], axis=1)


def flipped(graph: Graph, after: Keys) -> Changes:
    """The changes that make these edges of the graph's."""
    before = edge_keys(graph.edges, graph.num_nodes)
    added, removed = np.setdiff1d(after, before), np.setdiff1d(before, after)
    return Changes(added=pairs_of(added, graph.num_nodes), removed=pairs_of(removed, graph.num_nodes))
