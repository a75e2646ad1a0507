"""Every method with settings that make it small, and changes of a graph, for the tests of the methods."""

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.methods.contract import METHODS
from gvdn.methods.gvdn import GVDN
from gvdn.testing.graphs import grown, mislabelled, rewired

__all__ = ["SMALL", "grown", "mislabelled", "rewired", "scaled", "small", "small_method", "stripped"]

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
    "gpr-gae": ("gpr-gae", FEW | {"link_steps": 20, "filters": 2, "width": 4, "pair_width": 4}),
    "gnnguard": ("gnnguard", FEW),
    "airgnn": ("airgnn", FEW | {"order": 3}),
    "elastic-gnn": ("elastic-gnn", FEW | {"order": 3}),
    "soft-median-gdc": ("soft-median-gdc", FEW | {"neighbours": 8}),
    "adversarial-training": (
        "adversarial-training",
        FEW | {"order": 3, "warm_up": 3, "attack_steps": 2, "block_size": 100},
    ),
    "gtrans": ("gtrans", FEW | {"recovery_epochs": 10, "feature_rate": 0.05, "block_size": 20}),
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
    """The graph without the edges and the features of one node."""
    left = [edge for edge in graph.edges.tolist() if node not in edge]
    features = sp.csr_array(graph.features).toarray()
    features[node] = 0
    rest = {"labels": graph.labels, "ids": graph.ids, "class_names": graph.class_names, "name": graph.name}
    return Graph.from_edges(np.array(left), features, **rest)


def scaled(graph: Graph, node: int, factor: float) -> Graph:
    """The graph with one feature row multiplied."""
    features = graph.dense_features()
    features[node] *= factor
    return dataclasses.replace(graph, features=sp.csr_array(features) if sp.issparse(graph.features) else features)
