"""Personalised PageRank of every node, of which the largest entries of each row are kept."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int64

from gvdn.graph.graph import Graph
from gvdn.graph.normalise import normalised_adjacency
from gvdn.seeds import generator

SMALLEST = 1e-4
"""Residuals below this are not passed on."""
BLOCK = 1 << 23
"""Numbers that a block of rows has at most, were it dense."""
DIGITS = 9
"""Entries that are the same to so many digits are equal: their last digits depend on the order of a sum."""


class PageRank(NamedTuple):
    """The sums of the series for every node, and the largest entries of each row."""

    Pi: sp.csr_array
    sums: Float64[np.ndarray, " n"]
    """Of the largest entries of each row."""
    S: sp.csr_array
    """The largest entries of each row, divided by their sum."""


def top_pagerank(graph: Graph, alpha: float, number: int, smallest: float = SMALLEST) -> sp.csr_array:
    """The `number` largest entries of each row of alpha (I - (1 - alpha) Â)^-1; every row is divided by its sum.

    Gasteiger et al., Diffusion improves graph learning (NeurIPS 2019), with the symmetric Â. The series of alpha
    (1 - alpha)^t Â^t is summed for a block of rows at a time, as sparse matrices whose entries below `smallest` are
    dropped: nothing N x N is held, and rows cost as much as they have entries of that size. Of equal entries, which
    symmetric graphs have, those are kept whose feature rows are smaller in a random projection, always the same one, so
    that the order of the nodes does not matter.
    """
    kept = [block.S for block in _blocks(graph, alpha, number, smallest)]
    return sp.csr_array(sp.vstack(kept), dtype=np.float32)


def pagerank(graph: Graph, alpha: float, number: int, smallest: float = SMALLEST) -> PageRank:
    """The same rows, with what they were chosen from."""
    Pi, sums, S = zip(*_blocks(graph, alpha, number, smallest), strict=True)
    return PageRank(sp.csr_array(sp.vstack(Pi)), np.concatenate(sums), sp.csr_array(sp.vstack(S), dtype=np.float32))


def _blocks(graph: Graph, alpha: float, number: int, smallest: float) -> Iterator[PageRank]:
    """A block of rows at a time."""
    T = sp.csr_array(normalised_adjacency(graph), dtype=np.float64)
    columns = generator(0, "pagerank", "equal entries").random(graph.num_features)
    tie = np.asarray(graph.features @ columns).ravel()
    size = max(1, BLOCK // max(graph.num_nodes, 1))
    for start in range(0, graph.num_nodes, size):
        Pi = _summed(T, start, min(start + size, graph.num_nodes), alpha, smallest)
        yield PageRank(Pi, *_largest(Pi, tie, number))


def _summed(T: sp.csr_array, start: int, end: int, alpha: float, smallest: float) -> sp.csr_array:
    """The rows start..end of the series."""
    rows = np.arange(end - start)
    R = sp.csr_array((np.ones(len(rows)), (rows, rows + start)), shape=(len(rows), T.shape[0]))
    total = alpha * R
    while R.nnz:
        R = sp.csr_array((1 - alpha) * (R @ T))
        R.data[R.data < smallest] = 0
        R.eliminate_zeros()
        total = total + alpha * R
    return sp.csr_array(total)


def _largest(
    P: sp.csr_array, tie: Float64[np.ndarray, " n"], number: int
) -> tuple[Float64[np.ndarray, " b"], sp.csr_array]:
    """The sum of the largest entries of each row, and these entries divided by it."""
    rows: Int64[np.ndarray, " e"] = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    order = np.lexsort((tie[P.indices], -P.data.round(DIGITS), rows))
    place = np.arange(P.nnz) - P.indptr[rows]  # within the row: the order keeps rows together
    order = order[place < number]
    rows, columns, values = rows[order], P.indices[order], P.data[order]
    sums = np.bincount(rows, values, minlength=P.shape[0])
    return sums, sp.csr_array((values / sums[rows], (rows, columns)), shape=P.shape)
