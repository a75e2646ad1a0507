"""GCN-Jaccard: remove the edges between nodes with dissimilar features, then a GCN."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from gvdn.graph import Features, Graph
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.registry import Registry

PIECE = 1 << 15
"""Edges compared at a time."""

Similarity = Callable[[Features, Int64[np.ndarray, "m 2"]], Float[np.ndarray, " m"]]
SIMILARITIES: Registry[Similarity] = Registry("similarity")


@dataclass
class GCNJaccard(Base):
    """Wu et al., Adversarial examples for graph data (IJCAI 2019): an edge stays if J(x_u, x_v) >= threshold.

    J = |x_u and x_v| / |x_u or x_v| over the words that are present, so features of any kind are read as present (not
    zero) or absent; `similarity="cosine"` compares the values instead. Only existing edges are compared, by sparse
    products: O(edges x words). Two nodes without any feature have similarity 1 (published code divides 0 by 0 there).

    Every graph is cleaned, in training and at inference. A perturbator that has every word has the similarity
    |x_u| / d to a node of |x_u| words, which can be above the printed threshold.
    """

    epochs: int = 300
    threshold: float = 0.01
    similarity: str = "jaccard"

    name: ClassVar[str] = "gcn-jaccard"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = ""
    search_space: ClassVar[Space] = space(threshold=(0.01, 0.03, 0.1), epochs=(150, 300, 600))
    ranges: ClassVar = {"at least 0": ("threshold",)}

    def __post_init__(self) -> None:
        super().__post_init__()
        SIMILARITIES.canonical(self.similarity)

    def view(self, graph: Graph) -> Any:
        return super().view(drop_dissimilar_edges(graph, self.threshold, self.similarity))

    def through(self, graph: Graph) -> tuple[Any, Callable[[Any], Tensor]]:
        return super().through(drop_dissimilar_edges(graph, self.threshold, self.similarity))

    def link_factors(self, graph: Graph, pairs: Int64[np.ndarray, "m 2"]) -> Float32[np.ndarray, " m"]:
        """1 for a pair that is similar enough and 0 for any other, which no weight brings into the graph.

        An attacker who knows the filter spends no flip on links that it removes.
        """
        return (SIMILARITIES[self.similarity](graph.features, pairs) >= self.threshold).astype(np.float32)


def drop_dissimilar_edges(graph: Graph, threshold: float, similarity: str = "jaccard") -> Graph:
    """The graph without the edges whose ends have a similarity below the threshold."""
    similar = SIMILARITIES[similarity](graph.features, graph.edges) >= threshold
    left = adjacency_from_pairs(graph.edges[similar], graph.num_nodes, graph.edge_weights[similar])
    return dataclasses.replace(graph, adjacency=left)


@SIMILARITIES.register("jaccard")
def jaccard(features: Features, edges: Int64[np.ndarray, "m 2"]) -> Float[np.ndarray, " m"]:
    """Shared words over all words of the two ends of each edge; 1 where neither end has any."""
    present = sp.csr_array(features != 0).astype(np.float32)
    words = np.asarray(present.sum(axis=1), dtype=np.float64).ravel()
    shared = _dots(present, edges)
    union = words[edges].sum(axis=1) - shared
    return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)


@SIMILARITIES.register("cosine")
def cosine(features: Features, edges: Int64[np.ndarray, "m 2"]) -> Float[np.ndarray, " m"]:
    """The cosine between the two ends of each edge; 1 where neither has any feature, 0 where one has none."""
    X = sp.csr_array(features)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
    product = lengths[edges].prod(axis=1)
    both_empty = (lengths[edges] == 0).all(axis=1)
    return np.divide(_dots(X, edges), product, out=both_empty.astype(np.float64), where=product > 0)


def _dots(X: sp.csr_array, edges: Int64[np.ndarray, "m 2"]) -> Float[np.ndarray, " m"]:
    """x_u . x_v for every edge, a piece at a time."""
    pieces = (edges[start : start + PIECE].T for start in range(0, len(edges), PIECE))
    dots = [np.asarray(X[u].multiply(X[v]).sum(axis=1), dtype=np.float64).ravel() for u, v in pieces]
    return np.concatenate([np.empty(0), *dots])
