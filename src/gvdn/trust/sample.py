"""Some thousands of nodes of a large graph, with as many links as they have there, that the trust model is fitted on.

The trust model has a few thousand numbers, and its simulations need no more nodes than that. So what it costs to fit
it does not grow with the graph, apart from a few passes over all nodes. A graph of at most `MOST` nodes is its own
sample.
"""

from collections import deque
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
NEIGHBOURHOODS = 32
"""Parts of the graph that a sample is from, at least."""
FULL = 0.95
"""A sample with this share of its nodes is large enough."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Neighbourhoods of a graph.

    Attributes:
        graph: the nodes with their ids, rows and labels.
        rows: their positions in the whole graph, ascending.
        complete: the nodes whose neighbours are all in the sample; they have the links of the whole graph and no others.
    """

    graph: Graph
    rows: Positions
    complete: Bool[np.ndarray, " n"]


def sample_of(graph: Graph, classes: Positions, *, seed: int) -> Sample:
    """The sample of a graph; the graph itself where it is small.

    A link to a node outside of the sample is replaced by one to another node that lost such links, of the class of the
    node outside. So every node has about as many links as in the whole graph, to the same classes: otherwise genuine
    links would be those of nodes with many links, and hostile ones those of nodes that were cut off.

    Args:
        classes: the class of each node, as the model's answers say.
    """
    rows = sampled_rows(graph, seed=seed)
    if len(rows) == graph.num_nodes:
        return Sample(graph, rows, np.ones(len(rows), dtype=bool))
    inner = graph.subgraph(rows)
    complete = inner.degrees == graph.degrees[rows]
    links = not_linked(inner, _replacements(graph, rows, classes, generator(seed, "trust", "sample", "links")))
    weight = np.full(len(links), graph.adjacency.data.mean(), dtype=np.float32)
    adjacency = sp.csr_array(inner.adjacency + adjacency_from_pairs(links, len(rows), weight))
    return Sample(replace(inner, adjacency=adjacency), rows, complete)


def sampled_rows(graph: Graph, *, seed: int) -> Positions:
    """The positions of the nodes of a sample, ascending.

    From a random node on, nodes are visited in the order in which they were found, and all their neighbours are added;
    a node with more neighbours than there is room for is passed over. After some hundreds of nodes the next random one
    follows.
    """
    if graph.num_nodes <= MOST:
        return np.arange(graph.num_nodes)
    starts, near = graph.adjacency.indptr, graph.adjacency.indices
    taken, count = np.zeros(graph.num_nodes, dtype=bool), 0
    for first in generator(seed, "trust", "sample").permutation(graph.num_nodes).tolist():
        if count >= FULL * MOST:
            break
        if taken[first]:
            continue
        taken[first] = True
        found, count, until = deque([first]), count + 1, count + MOST // NEIGHBOURHOODS
        while found and count < min(until, MOST):
            node = found.popleft()
            around = near[starts[node] : starts[node + 1]]
            around = around[~taken[around]]
            if len(around) <= MOST - count:
                taken[around] = True
                count += len(around)
                found.extend(around.tolist())
    return np.flatnonzero(taken)


def _replacements(graph: Graph, rows: Positions, classes: Positions, rng: np.random.Generator) -> Pairs:
    """Pairs of sampled nodes that lost links, half as many as they lost, since each pair gives both a link.

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
