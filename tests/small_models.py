"""Small GVDNs and two ways to hurt a node, for the tests of the methods."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.methods.gvdn import GVDN


def small(**changes) -> GVDN:
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
