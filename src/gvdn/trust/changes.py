"""What differs between the clean graph, of which a baseline is stored, and the graph in hand."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, Shaped

from gvdn.graph import Graph, Positions
from gvdn.graph.edges import find_keys
from gvdn.graph.graph import edge_keys, find_ids
from gvdn.trust.rows import Pairs


@dataclass(frozen=True, eq=False)
class Changes:
    """Links and nodes that came and went since the clean graph.

    Attributes:
        stored: the row of each node of the graph among the stored nodes, -1 for a new node.
        vanished: the stored rows that the graph has no node of.
        links: the new links as positions in the graph, (smaller, larger); every link of a new node is one.
        gained: how many of them each node has.
        lost: how many stored links to nodes that are still there each node has lost.
        before: the stored degree of each node, without vanished neighbours; 0 for a new node.
        old: number of stored links between nodes that are still there.
    """

    stored: Positions
    vanished: Positions
    links: Pairs
    gained: Int64[np.ndarray, " n"]
    lost: Int64[np.ndarray, " n"]
    before: Int64[np.ndarray, " n"]
    old: int

    @property
    def number_new(self) -> int:
        return len(self.links)

    @property
    def number_lost(self) -> int:
        return int(self.lost.sum()) // 2

    @property
    def new_nodes(self) -> Positions:
        return np.flatnonzero(self.stored < 0)

    @property
    def exchanged(self) -> float:
        """The share of links that came and of those that went, whichever is smaller."""
        between_stored = int((self.stored[self.links] >= 0).all(axis=1).sum())
        return min(between_stored, self.number_lost) / max(self.old, 1)


def changes_since(ids: Shaped[np.ndarray, " s"], edges: Pairs, graph: Graph) -> Changes:
    """The changes from a clean graph, given by its ids and its links as (smaller, larger) rows, to this graph."""
    stored, position = find_ids(ids, graph.ids), find_ids(graph.ids, ids)
    here = position[edges]
    here = here[(here >= 0).all(axis=1)]
    now, number = graph.edges, graph.num_nodes
    before_keys, now_keys = edge_keys(np.sort(here, axis=1), number), edge_keys(now, number)
    found, new = find_keys(now_keys, before_keys), np.ones(len(now), dtype=bool)
    new[found[found >= 0]] = False
    links, gone = now[new], here[found < 0]
    gained, lost, before = (np.bincount(pairs.ravel(), minlength=number) for pairs in (links, gone, here))
    return Changes(stored, np.flatnonzero(position < 0), links, gained, lost, before, len(here))
