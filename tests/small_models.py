"""Every method, made small, and ways to hurt a graph, for the tests of the methods."""

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.methods.contract import METHODS
from gvdn.methods.gvdn import GVDN

FEW = {"hidden": 8, "epochs": 10}
FEW_SWEEPS = {"sweeps": 6, "warm_up": 2, "retrain_every": 2, "retrain_epochs": 3}
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "gcn-jaccard": ("gcn-jaccard", FEW),
    # On the ring the eigenvalues come in pairs below the first: five are cut at a gap, so they are unique.
    "gcn-svd": ("gcn-svd", FEW | {"rank": 5}),
    "dropedge": ("dropedge", FEW),
    "dropedge, normalised": ("dropedge", FEW | {"batch_norm": True}),
    "grand": ("grand", FEW | {"order": 3, "draws": 2}),
    "grand, normalised": ("grand", FEW | {"order": 2, "draws": 2, "batch_norm": True}),
    "rgcn": ("rgcn", FEW),
    "prognn": ("prognn", {"hidden": 8, "epochs": 5, "rank": 5, "neighbours": 2}),
    "mc-dropout": ("mc-dropout", FEW | {"samples": 5}),
    "graphss": ("graphss", FEW | FEW_SWEEPS),
    "lindt": ("lindt", FEW | FEW_SWEEPS),
    "gvdn": ("gvdn", FEW | {"learning_rate": 0.05, "recovery_epochs": 6}),
    "gcn": ("gcn", FEW),
    "sgc": ("gcn", FEW | {"aggregator": "sgc"}),
    "sage": ("gcn", FEW | {"aggregator": "sage"}),
    "gat": ("gcn", FEW | {"aggregator": "gat"}),
    "gcn-retrained": ("gcn-retrained", FEW),
    "mlp": ("mlp", FEW),
    "snapshot": ("snapshot", FEW),
}
"""What is tested: a word for it, the registered name, and settings that make it small."""


def small_method(word: str, **changes: Any) -> Any:
    name, settings = SMALL[word]
    return METHODS[name](**(settings | changes))


def small(**changes: Any) -> GVDN:
    return GVDN(**({"hidden": 8, "epochs": 12, "learning_rate": 0.05, "recovery_epochs": 6} | changes))


def stripped(graph: Graph, node: int) -> Graph:
    """The graph with everything taken from one node: its links and its features."""
    kept = [edge for edge in graph.edges.tolist() if node not in edge]
    features = sp.csr_array(graph.features).toarray()
    features[node] = 0
    rest = {"labels": graph.labels, "ids": graph.ids, "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(np.array(kept), features, **rest)


def louder(graph: Graph, node: int, times: float) -> Graph:
    features = sp.csr_array(graph.features).toarray()
    features[node] *= times
    sparse = sp.issparse(graph.features)
    return dataclasses.replace(graph, features=sp.csr_array(features) if sparse else features)


def mislabelled(graph: Graph, nodes: np.ndarray) -> Graph:
    """The same graph, except that these nodes carry the next class."""
    labels = graph.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % graph.num_classes
    return dataclasses.replace(graph, labels=labels)


def grown(graph: Graph, friend: int) -> Graph:
    """The graph with a new node at its end, a copy of one that is there, and linked to it."""
    features = sp.csr_array(sp.vstack([sp.csr_array(graph.features), sp.csr_array(graph.features)[[friend]]]))
    edges = np.concatenate([graph.edges, [[friend, graph.num_nodes]]])
    new = "new" if graph.ids.dtype.kind == "U" else graph.ids.max() + 1
    rest = {"ids": np.append(graph.ids, new), "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(edges, features, labels=np.append(graph.labels, -1), **rest)


def rewired(graph: Graph) -> Graph:
    """The graph after somebody was there: eight edges gone, eight new ones, a feature row that is nobody's."""
    rng = np.random.default_rng(0)
    strangers = rng.integers(0, graph.num_nodes, (8, 2))
    kept = np.delete(graph.edges, rng.choice(graph.num_edges, 8, replace=False), axis=0)
    changed = louder(graph, 7, 3.0)
    rest = {"labels": graph.labels, "ids": graph.ids, "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(np.concatenate([kept, strangers]), changed.features, **rest)


def content(graph: Graph) -> str:
    """A hash of what is there now, not of what was there when somebody asked first."""
    return Graph(
        graph.adjacency, graph.features, labels=graph.labels, ids=graph.ids, class_names=graph.class_names
    ).hash
