"""Each node's nearest nodes by features."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int64

from gvdn.graph import Graph

BLOCK_BYTES = 1 << 27  # memory of one block of similarities


def nearest_by_features(graph: Graph, number: int) -> Int64[np.ndarray, "m 2"]:
    """Pairs of each node and the nodes of largest cosine to it, at most `number`, each pair once (smaller, larger).

    Exact, one block of rows at a time, so nothing N x N is held; a node without features has no neighbours.
    """
    nodes = graph.num_nodes
    number = min(number, nodes - 1)
    if number < 1:
        return np.empty((0, 2), dtype=np.int64)
    X = unit_rows(graph)
    rows = max(1, BLOCK_BYTES // (4 * nodes))
    found = [_of_block(X, start, min(start + rows, nodes), number) for start in range(0, nodes, rows)]
    keys = np.unique(np.concatenate(found))
    return np.stack([keys // nodes, keys % nodes], axis=1)


def _of_block(X: np.ndarray | sp.csr_array, start: int, end: int, number: int) -> Int64[np.ndarray, " k"]:
    """The pairs of the nodes start..end as smaller * nodes + larger."""
    block = X[start:end] @ X.T
    similar: np.ndarray = block.toarray() if sp.issparse(block) else block
    own = np.arange(end - start)
    similar[own, own + start] = -1
    found = np.argpartition(-similar, number - 1, axis=1)[:, :number]
    positive = np.take_along_axis(similar, found, axis=1) > 0
    pairs = np.sort(np.stack([np.broadcast_to(own[:, None] + start, found.shape)[positive], found[positive]]), axis=0)
    return pairs[0].astype(np.int64) * X.shape[0] + pairs[1]


def unit_rows(graph: Graph) -> np.ndarray | sp.csr_array:
    """X with rows of length 1 (or 0), dense where that is the faster product."""
    X = graph.features
    squares = np.asarray((X * X if isinstance(X, np.ndarray) else X.multiply(X)).sum(axis=1)).ravel()
    scale = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0).astype(np.float32)
    if isinstance(X, np.ndarray):
        return X * scale[:, None]
    scaled = sp.csr_array(sp.diags_array(scale) @ X)
    return scaled.toarray() if X.nnz > 0.05 * X.shape[0] * X.shape[1] else scaled
