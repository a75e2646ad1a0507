"""Small graphs, and changes of a graph, to check methods on."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph, Split

NO_NODES = np.empty(0, dtype=np.int64)


def ring() -> Graph:
    """Sixty nodes in a ring with chords, three classes that the features show, sparse features, text ids."""
    nodes, classes = 60, 3
    edges = np.array([(node, (node + step) % nodes) for node in range(nodes) for step in (1, 2)])
    labels = np.arange(nodes) * classes // nodes
    features = np.random.default_rng(nodes).random((nodes, classes + 2)).astype(np.float32)
    features[np.arange(nodes), labels] += 1
    ids = np.array([f"n{node:02d}" for node in range(nodes)])
    features = sp.csr_array(np.where(features > 0.6, features, 0))
    return Graph.from_edges(edges, features, labels=labels, ids=ids, name="ring")


def tiny_graphs() -> dict[str, tuple[Graph, Split]]:
    """Graphs at the limits of what a graph is, with a split, by what is special about them."""
    features = np.random.default_rng(0).random((6, 3)).astype(np.float32)
    edge = Graph.from_edges(np.array([[0, 1]]), features[:2], labels=np.array([0, 1]))
    small_class = Graph.from_edges(np.array([[0, 1], [1, 2], [2, 3]]), features, labels=np.array([0, 0, 0, 0, 1, 0]))
    no_edges = Graph.from_edges(np.empty((0, 2), dtype=np.int64), features, labels=np.array([0, 1] * 3))
    zeros = Graph.from_edges(np.array([[0, 1], [2, 3]]), np.zeros((6, 3)), labels=np.array([0, 1] * 3))
    empty_class = dataclasses.replace(no_edges, class_names=("a", "b", "c"))
    split = Split(np.array([0, 1, 4]), np.array([2]), np.array([3, 5]))
    return {
        "one edge": (edge, Split(np.array([0, 1]), NO_NODES, NO_NODES)),
        "a class with one node": (small_class, split),
        "no edges": (no_edges, split),
        "all features zero": (zeros, split),
        "a class without a node": (empty_class, split),
    }


def rewired(graph: Graph) -> Graph:
    """The graph with eight edges removed, eight edges added, and one feature row three times as large."""
    rng = np.random.default_rng(0)
    added = rng.integers(0, graph.num_nodes, (8, 2))
    left = np.delete(graph.edges, rng.choice(graph.num_edges, 8, replace=False), axis=0)
    features = graph.dense_features()
    features[7] *= 3
    rest = {"labels": graph.labels, "ids": graph.ids, "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(np.concatenate([left, added]), sp.csr_array(features), **rest)


def mislabelled(graph: Graph, nodes: np.ndarray) -> Graph:
    """The graph in which these nodes have the next class as their label."""
    labels = graph.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % graph.num_classes
    return dataclasses.replace(graph, labels=labels)


def grown(graph: Graph, neighbour: int) -> Graph:
    """The graph with a new, unlabelled node at its end: a copy of one node, with an edge to it."""
    X = sp.csr_array(graph.features)
    edges = np.concatenate([graph.edges, [[neighbour, graph.num_nodes]]])
    new = "new" if graph.ids.dtype.kind == "U" else graph.ids.max() + 1
    rest = {"ids": np.append(graph.ids, new), "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(edges, sp.vstack([X, X[[neighbour]]]).tocsr(), labels=np.append(graph.labels, -1), **rest)


def content(graph: Graph) -> str:
    """The hash of what the graph holds now; `graph.hash` is computed once."""
    return dataclasses.replace(graph).hash
