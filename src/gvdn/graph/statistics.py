"""The numbers of a dataset table, for any graph."""

from dataclasses import dataclass

import numpy as np

from gvdn.graph.graph import UNLABELLED, Graph
from gvdn.graph.split import Split


@dataclass(frozen=True)
class Statistics:
    """One row of a dataset table: edges in both conventions; degrees count the self-loop, as the paper does."""

    name: str
    nodes: int
    edges: int
    edges_both_directions: int
    features: int
    feature_density: float
    classes: int
    labelled: int
    isolated: int
    average_degree: float
    average_degree_test: float | None
    edge_homophily: float | None


def statistics(graph: Graph, split: Split | None = None) -> Statistics:
    """The row of a graph; the degree of test nodes is None without a split."""
    filled = np.count_nonzero(graph.features) if isinstance(graph.features, np.ndarray) else graph.features.nnz
    return Statistics(
        name=graph.name,
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        edges_both_directions=2 * graph.num_edges,
        features=graph.num_features,
        feature_density=filled / max(graph.num_nodes * graph.num_features, 1),
        classes=graph.num_classes,
        labelled=int((graph.labels != UNLABELLED).sum()),
        isolated=int((graph.degrees == 0).sum()),
        average_degree=float(graph.degrees.mean()) + 1,
        average_degree_test=float(graph.degrees[split.test].mean()) + 1 if split and split.test.size else None,
        edge_homophily=edge_homophily(graph),
    )


def edge_homophily(graph: Graph) -> float | None:
    """Share of the edges with both ends labelled whose ends carry the same label; None where there is no such edge."""
    ends = graph.labels[graph.edges]
    known = (ends != UNLABELLED).all(axis=1)
    return float((ends[known, 0] == ends[known, 1]).mean()) if known.any() else None
