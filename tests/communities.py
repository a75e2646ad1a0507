"""A graph of communities, a model without weights, and changes of a graph, for the tests of the diagnosis."""

import dataclasses

import numpy as np

from gvdn.graph import Graph
from gvdn.graph.graph import adjacency_from_pairs


def communities(nodes: int = 240, classes: int = 3, degree: int = 6, seed: int = 0) -> Graph:
    """Classes of equal size; nine of ten links stay within a class; eight noisy words for each class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    pairs = []
    for node in range(nodes):
        for _ in range(degree // 2):
            same = rng.random() < 0.9
            others = np.flatnonzero((labels == labels[node]) == same)
            pairs.append((node, int(rng.choice(others))))
    words = rng.random((nodes, 8 * classes)) < 0.1
    for one in range(classes):
        words[labels == one, 8 * one : 8 * one + 8] |= rng.random((int((labels == one).sum()), 8)) < 0.5
    ids = np.array([f"n{node:03d}" for node in range(nodes)])
    names = tuple(f"class {one}" for one in range(classes))
    features = words.astype(np.float32)
    return Graph.from_edges(np.array(pairs), features, labels=labels, ids=ids, class_names=names, name="communities")


class Votes:
    """A model without weights: the soft majority of a node's own class and its neighbours', by what the words say."""

    def __init__(self, classes: int = 3) -> None:
        self.classes = classes

    def __call__(self, graph: Graph) -> np.ndarray:
        words = graph.dense_features().astype(np.float64)
        own = words.reshape(len(words), self.classes, -1).sum(axis=2)
        votes = own + graph.adjacency @ own
        scaled = np.exp(votes - votes.max(axis=1, keepdims=True))
        return scaled / scaled.sum(axis=1, keepdims=True)


def with_links(graph: Graph, pairs: list[tuple[int, int]]) -> Graph:
    """The graph with further links."""
    edges = np.unique(np.concatenate([graph.edges, np.sort(np.array(pairs, dtype=np.int64), axis=1)]), axis=0)
    return dataclasses.replace(graph, adjacency=adjacency_from_pairs(edges, graph.num_nodes))


def without_links(graph: Graph, node: int, number: int) -> Graph:
    """The graph without the first links of a node."""
    mine = np.flatnonzero((graph.edges == node).any(axis=1))[:number]
    return dataclasses.replace(
        graph, adjacency=adjacency_from_pairs(np.delete(graph.edges, mine, axis=0), graph.num_nodes)
    )


def with_row(graph: Graph, node: int, row: np.ndarray) -> Graph:
    features = graph.dense_features()
    features[node] = row
    return dataclasses.replace(graph, features=features)


def strangers(graph: Graph, node: int, number: int) -> list[int]:
    """Nodes of other classes that are no neighbours."""
    others = np.flatnonzero((graph.labels != graph.labels[node]) & ~graph.adjacency[[node]].toarray()[0].astype(bool))
    return others[:number].tolist()
