"""Features of the links alone: degree, clustering coefficient, and a code of each node's surroundings."""

import dataclasses
import hashlib

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Shaped

from gvdn.graph.graph import Graph
from gvdn.graph.tables.columns import CODES, STEPS, Columns, Structure

BLOCK = 1 << 24  # entries of one block of a product
SAID = "the nodes have no features; they got those of their links: degree, clustering, a code of their surroundings"


def with_structural_features(graph: Graph, columns: Columns | None = None) -> Graph:
    """A graph whose features are computed from its links; `columns` are those of an earlier graph to be read alike.

    The logarithm of 1 + degree, scaled; the clustering coefficient; and a code of what is around the node
    (`surroundings`). Nothing is learned but the scale, so a node that comes later gets features that mean the same.
    Weights are not used.

    >>> from gvdn.graph import Graph
    >>> with_structural_features(Graph.from_edges([[0, 1], [1, 2], [0, 2], [2, 3]], [[]] * 4)).num_features
    130
    """
    degree = np.log1p(graph.degrees.astype(np.float64))
    known = columns.structure if columns else None
    if known is None:
        scale = float(degree.std())
        known = Structure(float(degree.mean()), scale if scale > 0 else 1.0)
    code = surroundings(graph, known.codes, known.steps)
    features = np.column_stack([(degree - known.mean) / known.scale, clustering(graph), code])
    return dataclasses.replace(
        graph,
        features=features.astype(np.float32),
        feature_names=known.features,
        columns=dataclasses.replace(columns or Columns(), structure=known),
        notes=graph.notes if SAID in graph.notes else (*graph.notes, SAID),
    )


def has_structural_features(graph: Graph) -> bool:
    """Whether the features are those of the links."""
    return graph.columns is not None and graph.columns.structure is not None


def surroundings(graph: Graph, codes: int = CODES, steps: int = STEPS) -> Float64[np.ndarray, "n codes"]:
    """The mean of random vectors over the ends of short random walks, divided by its norm.

    Each node has a vector of +1 and -1 that follows from its id alone (`id_codes`). With P = D^-1 (A + I) and R these
    vectors, less their mean in the long run (weighted by degree), the code is P^steps R: two nodes have similar codes
    if walks from them end at the same nodes, up to the error of a random projection. The mean is taken off because
    all walks of many steps end alike.
    """
    A = _pattern(graph) + sp.eye_array(graph.num_nodes, format="csr")
    degree = np.asarray(A.sum(axis=1)).ravel()
    P = sp.csr_array(sp.diags_array(1 / degree) @ A)
    H = id_codes(graph.ids, codes)
    H = H - degree @ H / degree.sum() if graph.num_edges else H
    for _ in range(steps):
        H = P @ H
    norm = np.linalg.norm(H, axis=1, keepdims=True)
    return np.divide(H, norm, out=np.zeros_like(H), where=norm > 1e-12)


def id_codes(ids: Shaped[np.ndarray, " n"], codes: int) -> Float64[np.ndarray, "n codes"]:
    """The first bits of the sha256 of each id, as +1 and -1."""
    size = -(-codes // 8)
    words = (f"structural code\x1f{one}".encode("utf-8", "surrogatepass") for one in ids.tolist())
    digests = b"".join(hashlib.sha256(word).digest()[:size] for word in words)
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8).reshape(len(ids), size), axis=1)
    return 2.0 * bits[:, :codes] - 1.0


def clustering(graph: Graph) -> Float64[np.ndarray, " n"]:
    """The share of each node's pairs of neighbours that are joined; 0 for a node with fewer than two."""
    A = _pattern(graph)
    reached = np.asarray(A @ graph.degrees.astype(np.float64)).ravel()  # entries of each row of A A, at most
    blocks = np.searchsorted(np.cumsum(reached), np.arange(BLOCK, reached.sum() + BLOCK, BLOCK), side="right")
    triangles, start = np.zeros(graph.num_nodes), 0
    for end in np.unique(np.append(blocks, graph.num_nodes)):
        end = min(max(int(end), start + 1), graph.num_nodes)
        if start < end:
            part = A[start:end]
            triangles[start:end] = np.asarray((part @ A).multiply(part).sum(axis=1)).ravel()
        start = end
    pairs = graph.degrees * (graph.degrees - 1.0)
    return np.divide(triangles, pairs, out=np.zeros(graph.num_nodes), where=pairs > 0)


def _pattern(graph: Graph) -> sp.csr_array:
    """The adjacency with the weight 1 on every edge."""
    A = graph.adjacency
    return sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
