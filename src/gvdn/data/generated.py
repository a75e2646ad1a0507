"""Generated graphs: a heterophilous one, and one that grows. Drawn by name, the same everywhere, and fast to make.

Both are degree-corrected stochastic block models (Karrer and Newman, Physical Review E 83, 2011) with words as
features. They are made to ask questions of methods, not to resemble any real graph.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int64

from gvdn.graph import Graph, Published
from gvdn.graph.edges import Dropped
from gvdn.registry import Registry
from gvdn.seeds import generator

GENERATORS: Registry[Callable[[], Graph]] = Registry("generator")
NODES, CLASSES, WORDS, WORDS_EACH = 3000, 5, 300, 12
LINKS_EACH = 5
"""Links per node; the mean degree is about twice that."""


def generate(name: str) -> Graph:
    """The generated graph of this name."""
    return GENERATORS[name]()


@GENERATORS.register("heterophilous")
def heterophilous(
    nodes: int = NODES, *, homophily: float = 0.2, topical: float = 0.2, noise: float = 0.1, seed: int = 0
) -> Graph:
    """Links mostly between unlike classes, and not between any two: which class a node has shows in those of its links.

    The classes stand in a ring. A link joins two nodes of one class with probability `homophily`, a node with one of
    the next or the previous class with `1 - homophily - noise`, and any other two classes with `noise`.

    Args:
        topical: the share of a node's words that are drawn from the words of its class.

    >>> from gvdn.graph import edge_homophily
    >>> round(edge_homophily(heterophilous(500)), 1)
    0.2
    """
    rng = generator(seed, "generated", "heterophilous", str(nodes))
    labels = rng.permutation(np.arange(nodes) % CLASSES)
    table = np.full((CLASSES, CLASSES), noise / (CLASSES - 3))
    for label in range(CLASSES):
        table[label, label] = homophily
        table[label, [(label + 1) % CLASSES, (label - 1) % CLASSES]] = (1 - homophily - noise) / 2
    weight = (1 - rng.random(nodes)) ** -0.3  # of a node: some have several times the links of others
    first = np.repeat(np.arange(nodes), LINKS_EACH)
    second = _partners(labels, _drawn(table[labels[first]], rng), weight, rng)
    edges = np.stack([first, second], axis=1)
    features = _words(labels, np.full(nodes, topical), np.zeros(nodes), rng)
    return _graph(edges, features, labels=labels, name="heterophilous")


MONTHS = 30


@GENERATORS.register("growing")
def growing(nodes: int = NODES, *, homophily: float = 0.6, topical: float = 0.25, seed: int = 0) -> Graph:
    """Nodes arrive month after month and link to those that are there, most of them to their own class.

    What is there first has most links. The words of the classes and the shares of the classes change over the months,
    so that a model of the past knows the present less well. `graph.published.times` is the month of each node.
    """
    rng = generator(seed, "generated", "growing", str(nodes))
    months = np.arange(nodes) * MONTHS // nodes
    age = months / (MONTHS - 1)
    drift = np.linspace(
        -0.5, 0.5, CLASSES
    )  # of the logarithm of the share of a class, from the first to the last month
    shares = np.exp(np.outer(age - 0.5, drift))
    labels = _drawn(shares / shares.sum(axis=1, keepdims=True), rng)
    table = np.full((CLASSES, CLASSES), (1 - homophily) / (CLASSES - 1))
    np.fill_diagonal(table, homophily)
    edges, degrees = [], np.ones(nodes)
    for month in range(MONTHS):
        arrived = np.flatnonzero(months == month)
        weight = np.where(months <= month, degrees, 0.0)
        first = np.repeat(arrived, LINKS_EACH)
        second = _partners(labels, _drawn(table[labels[first]], rng), weight, rng)
        edges.append(np.stack([first, second], axis=1))
        degrees += np.bincount(np.concatenate([first, second]), minlength=nodes)
    features = _words(labels, np.full(nodes, topical), age, rng)
    published = Published(np.arange(nodes), np.zeros((nodes, 0), dtype=np.int8), months)
    pairs = np.concatenate(edges)
    return _graph(pairs, features, labels=labels, published=published, name="growing")


def _graph(edges: Int64[np.ndarray, "m 2"], features: sp.csr_array, **rest: Any) -> Graph:
    """The graph of drawn links; that some were drawn twice is nothing to be told."""
    return dataclasses.replace(Graph.from_edges(edges, features, **rest), notes=(), dropped=Dropped())


def _drawn(probs: Float64[np.ndarray, "n k"], rng: np.random.Generator) -> Int64[np.ndarray, " n"]:
    """A number for each row, drawn with the row's probabilities."""
    below = probs.cumsum(axis=1) <= rng.random(len(probs))[:, None]
    return np.minimum(below.sum(axis=1), probs.shape[1] - 1).astype(np.int64)


def _partners(
    labels: Int64[np.ndarray, " n"],
    wanted: Int64[np.ndarray, " m"],
    weight: Float64[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Int64[np.ndarray, " m"]:
    """A node of each wanted class, drawn by weight; of any class where none of that class has a weight."""
    found = np.zeros(len(wanted), dtype=np.int64)
    for label in range(CLASSES):
        asked = np.flatnonzero(wanted == label)
        members = np.flatnonzero((labels == label) & (weight > 0))
        members = members if members.size else np.flatnonzero(weight > 0)
        reach = weight[members].cumsum()
        found[asked] = members[np.searchsorted(reach, rng.random(len(asked)) * reach[-1], side="right")]
    return found


def _words(
    labels: Int64[np.ndarray, " n"],
    topical: Float64[np.ndarray, " n"],
    age: Float64[np.ndarray, " n"],
    rng: np.random.Generator,
) -> sp.csr_array:
    """Words that are there or not: of the node's class with the probability `topical`, else any.

    Each class has its own tenth of the words in the beginning (age 0) and the following tenth in the end (age 1).
    """
    nodes, own = len(labels), WORDS // (2 * CLASSES)
    shape = (nodes, WORDS_EACH)
    topic = 2 * own * labels[:, None] + own * (rng.random(shape) < age[:, None]) + (rng.random(shape) * own).astype(int)
    words = np.where(rng.random(shape) < topical[:, None], topic, (rng.random(shape) * WORDS).astype(int))
    rows = np.repeat(np.arange(nodes), WORDS_EACH)
    found = sp.csr_array((np.ones(words.size, dtype=np.float32), (rows, words.ravel())), shape=(nodes, WORDS))
    return sp.csr_array(found != 0, dtype=np.float32)
