"""Features of the links alone: degree, clustering coefficient, positions in the spectrum of the Laplacian."""

import dataclasses

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from gvdn.graph.graph import Graph, Positions, find_ids
from gvdn.graph.tables.columns import Columns, Structure
from gvdn.seeds import generator

POSITIONS = 8
ANCHORS = 8
BLOCK = 1 << 24  # entries of one block of a product
DENSE = 200  # up to this number of nodes the eigenvectors are computed from a dense matrix


def with_structural_features(graph: Graph, columns: Columns | None = None) -> Graph:
    """A graph whose features are computed from its links; `columns` are those of an earlier graph to be read alike.

    The logarithm of 1 + degree, scaled; the clustering coefficient; and the position p of each node of the largest
    component in the first eigenvectors of the normalised Laplacian after the constant one. Most entries are nearly 0
    and a few are large, so the feature is sign(p) log(1 + |p|). Weights are not used. The sign of an eigenvector is
    arbitrary: on the first graph its largest entry is positive, and on a later one it is chosen to agree with the nodes
    where it was largest.

    >>> from gvdn.graph import Graph
    >>> with_structural_features(Graph.from_edges([[0, 1], [1, 2], [0, 2], [2, 3]], [[]] * 4)).num_features
    4
    """
    degree = np.log1p(graph.degrees.astype(np.float64))
    known = columns.structure if columns else None
    if known is None:
        position = positions(graph)
        anchors = tuple(_anchors(graph, column) for column in position.T)
        scale = float(degree.std())
        known = Structure(float(degree.mean()), scale if scale > 0 else 1.0, anchors)
    else:
        position = _agreeing(graph, positions(graph, len(known.anchors)), known)
    compressed = np.sign(position) * np.log1p(np.abs(position))
    features = np.column_stack([(degree - known.mean) / known.scale, clustering(graph), compressed])
    said = "the nodes have no features; they got those of their links: degree, clustering, Laplacian positions"
    return dataclasses.replace(
        graph,
        features=features.astype(np.float32),
        feature_names=known.features,
        columns=dataclasses.replace(columns or Columns(), structure=known),
        notes=(*graph.notes, said),
    )


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


def positions(graph: Graph, number: int | None = None) -> Float64[np.ndarray, "n k"]:
    """Entries of the eigenvectors of D^-1/2 A D^-1/2 after the largest, times the root of the number of nodes.

    Only the largest component has any; as many as it can have, at most 8, unless a number is given.
    """
    inside = _largest_component(graph)
    possible = max(0, min(POSITIONS, len(inside) - 2))
    wanted = possible if number is None else number
    found = np.zeros((graph.num_nodes, wanted))
    take = min(wanted, possible)
    if take:
        found[np.ix_(inside, np.arange(take))] = _eigenvectors(graph.subgraph(inside), take) * np.sqrt(len(inside))
    return found


def _eigenvectors(graph: Graph, number: int) -> Float64[np.ndarray, "n k"]:
    scale = sp.diags_array(graph.degrees.astype(np.float64) ** -0.5)
    S = sp.csr_array(scale @ _pattern(graph) @ scale)
    if graph.num_nodes <= DENSE:
        vectors = np.linalg.eigh(S.toarray())[1][:, ::-1][:, 1 : number + 1]
    else:
        from scipy.sparse.linalg import ArpackError, eigsh

        start = generator(0, "laplacian-positions", str(graph.num_nodes)).standard_normal(graph.num_nodes)
        try:
            found, pairs = eigsh(S, k=number + 1, which="LA", v0=start, maxiter=2000, tol=1e-6)
        except ArpackError:  # no convergence: no positions, rather than those of an unfinished iteration
            return np.zeros((graph.num_nodes, number))
        vectors = pairs[:, np.argsort(-found)][:, 1 : number + 1]
    largest = vectors[np.argmax(np.abs(np.round(vectors, 6)), axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def _pattern(graph: Graph) -> sp.csr_array:
    """The adjacency with the weight 1 on every edge."""
    A = graph.adjacency
    return sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)


def _largest_component(graph: Graph) -> Positions:
    """The nodes of the component with most nodes, the first of equal ones; none without any edge."""
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(graph.adjacency, directed=False)
    sizes = np.bincount(labels)
    if not graph.num_edges:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(labels == sizes.argmax()).astype(np.int64)


def _anchors(graph: Graph, column: Float64[np.ndarray, " n"]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the largest entries: those that are positive, those that are negative."""
    top = np.sort(np.argsort(-np.abs(column), kind="stable")[:ANCHORS])
    positive, negative = (
        tuple(str(one) for one in graph.ids[top[side]]) for side in (column[top] > 0, column[top] < 0)
    )
    return positive, negative


def _agreeing(graph: Graph, position: Float64[np.ndarray, "n k"], known: Structure) -> Float64[np.ndarray, "n k"]:
    """The positions with the signs that the anchors had."""
    ids = graph.ids.astype(np.str_)
    for number, anchors in enumerate(known.anchors):
        total = 0.0
        for sign, names in zip((1, -1), anchors, strict=True):
            rows = find_ids(ids, np.array(names, dtype=np.str_)) if names else np.zeros(0, dtype=np.int64)
            total += sign * position[rows[rows >= 0], number].sum()
        if total < 0:
            position[:, number] *= -1
    return position
