"""Some thousands of nodes of a large graph, with as many links as they have there, that the trust model is fitted on.

The trust model has a few thousand numbers, and its simulations need no more nodes than that. So what it costs to fit
it does not grow with the graph, apart from a few passes over all nodes.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs, not_linked
from gvdn.seeds import generator
from gvdn.trust.rows import Pairs

MOST = 20_000
"""Nodes that the trust model is fitted on, at most."""
FULL = 0.95
"""A sample with this share of its nodes is large enough."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Random nodes of a graph with their neighbours.

    Attributes:
        graph: the nodes with their ids, rows and labels.
        rows: their positions in the whole graph, ascending.
        complete: the random nodes, which have all their links and no others.
    """

    graph: Graph
    rows: Positions
    complete: Bool[np.ndarray, " n"]


def sample_of(graph: Graph, classes: Positions, *, seed: int) -> Sample:
    """The sample of a graph; the graph itself, all of whose nodes are complete, where it has no more than `MOST` nodes.

    Random nodes are drawn one after the other, each with all its neighbours, so that the complete ones are as those of
    the whole graph. A link of a neighbour to a node outside is replaced by one to another neighbour that lost links, of
    the class of the node outside. So every node has about as many links as in the whole graph, to the same classes:
    otherwise a hostile link, to any node, would be known by an end that has few links left.

    Args:
        classes: the class of each node, as the model's answers say.
    """
    if graph.num_nodes <= MOST:
        return Sample(graph, np.arange(graph.num_nodes), np.ones(graph.num_nodes, dtype=bool))
    taken, drawn = _neighbourhoods(graph, generator(seed, "trust", "sample"))
    rows = np.flatnonzero(taken)
    inner = graph.subgraph(rows)
    links = not_linked(inner, _replacements(graph, rows, classes, generator(seed, "trust", "sample", "links")))
    weight = np.full(len(links), graph.adjacency.data.mean() if graph.num_edges else 1, dtype=np.float32)
    adjacency = sp.csr_array(inner.adjacency + adjacency_from_pairs(links, len(rows), weight))
    return Sample(replace(inner, adjacency=adjacency), rows, drawn[rows])


def _neighbourhoods(graph: Graph, rng: np.random.Generator) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Which nodes are in the sample, and which of them were drawn, with all their neighbours.

    A node with more neighbours than there is room for is in the sample without them.
    """
    starts, near = graph.adjacency.indptr, graph.adjacency.indices
    taken, drawn = np.zeros((2, graph.num_nodes), dtype=bool)
    count = 0
    for node in rng.permutation(graph.num_nodes).tolist():
        around = near[starts[node] : starts[node + 1]]
        new = around[~taken[around]]
        drawn[node] = len(new) < MOST - count
        count += int(not taken[node]) + drawn[node] * len(new)
        taken[node] = True
        taken[new] |= drawn[node]
        if count >= FULL * MOST:
            break
    return taken, drawn


def _replacements(graph: Graph, rows: Positions, classes: Positions, rng: np.random.Generator) -> Pairs:
    """Pairs of sampled nodes that lost links, half as many as they lost, since each pair gives a link to both.

    The partner is a random one of the class of the node outside, the likelier the more links it lost itself.
    """
    place = np.full(graph.num_nodes, -1)
    place[rows] = np.arange(len(rows))
    links = graph.adjacency[rows]
    outside = links.indices[place[links.indices] < 0]
    losers = np.repeat(np.arange(len(rows)), np.diff(links.indptr))[place[links.indices] < 0]
    partners, replaced = np.full(len(losers), -1), rng.random(len(losers)) < 0.5
    for one in np.unique(classes[outside]):
        of_class, here = losers[classes[rows[losers]] == one], replaced & (classes[outside] == one)
        if of_class.size:
            partners[here] = rng.choice(of_class, int(here.sum()))
    there = partners >= 0
    return np.stack([losers[there], partners[there]], axis=1)
