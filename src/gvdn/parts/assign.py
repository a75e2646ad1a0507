"""Which part each node goes to: by METIS, or by a partition of the stream of nodes that never holds the graph."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.parts.rows import Block, Rows, whole_matrix

PASSES = 3
"""Times that the nodes stream by; from the second on, each sees where all its neighbours were put before."""
SLACK = 1.05
"""A part holds at most this many times its share of the nodes."""
TOGETHER = 512
"""Nodes that are placed at a time, at most."""
POWER = 1.5
UNPLACED = -1
PARTITIONERS = ("auto", "metis", "stream")


def chosen_partitioner(name: str) -> str:
    """`metis` or `stream`; auto is METIS where pymetis is installed."""
    if name not in PARTITIONERS:
        raise InvalidInput(f"expected one of {', '.join(PARTITIONERS)} as partitioner, got {name!r}")
    there = find_spec("pymetis") is not None
    if name == "metis" and not there:
        raise InvalidInput("the partitioner metis needs pymetis: pip install pymetis; or take --partitioner stream")
    return ("metis" if there else "stream") if name == "auto" else name


def assigned(rows: Rows, parts: int, partitioner: str, placed: np.ndarray | None = None) -> np.ndarray:
    """The part of every node. Where `placed` says a part already (not -1), the node stays there and METIS is not asked.

    No part is left empty.
    """
    if not 1 <= parts <= max(rows.nodes, 1):
        raise InvalidInput(f"expected from 1 to {rows.nodes:,} parts, one node in each at least, got {parts}")
    if parts == 1:
        return np.zeros(rows.nodes, dtype=np.int32)
    found = _by_metis(rows, parts) if partitioner == "metis" and placed is None else streamed(rows, parts, placed)
    return _none_empty(found, parts)


def _by_metis(rows: Rows, parts: int) -> np.ndarray:
    """METIS (Karypis and Kumar, SIAM J. Sci. Comput. 1998): a small cut, with all links in memory."""
    import pymetis

    matrix = whole_matrix(rows)
    adjacency = pymetis.CSRAdjacency(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32))
    _, found = pymetis.part_graph(parts, adjacency)
    return np.asarray(found, dtype=np.int32)


def streamed(rows: Rows, parts: int, placed: np.ndarray | None = None) -> np.ndarray:
    """Fennel (Tsourakakis et al., WSDM 2014), streamed several times (Nishimura and Ugander, KDD 2013).

    A node goes to the part i with the most of its neighbours, less the price alpha gamma |P_i|^(gamma - 1) of one more
    node there, with gamma = 1.5 and alpha = sqrt(k) m / n^1.5; a part that is full takes none. The state is one number
    for each node. A few nodes are placed at a time, by the sizes before them.
    """
    n = rows.nodes
    fixed = np.zeros(n, dtype=bool) if placed is None else placed != UNPLACED
    part = np.full(n, UNPLACED, dtype=np.int32) if placed is None else placed.astype(np.int32)
    sizes = np.bincount(part[part >= 0], minlength=parts).astype(np.int64)
    most = max(math.ceil(SLACK * n / parts), int(sizes.max(initial=0)) if placed is not None else 0)
    alpha = math.sqrt(parts) * (rows.entries / 2) / max(n, 1) ** POWER
    step = max(1, min(TOGETHER, n // (8 * parts)))
    for _ in range(PASSES):
        for block in rows:
            for start in range(0, len(block.starts) - 1, step):
                _place(block, start, min(start + step, len(block.starts) - 1), part, sizes, fixed, most, alpha)
    return part


def _place(
    block: Block, start: int, end: int, part: np.ndarray, sizes: np.ndarray, fixed: np.ndarray, most: int, alpha: float
) -> None:
    """Place some nodes of a block, all by what is known before them."""
    nodes = np.arange(block.first + start, block.first + end)
    entries = slice(block.starts[start], block.starts[end])
    lengths = np.diff(block.starts[start : end + 1])
    where, row = part[block.columns[entries]], np.repeat(np.arange(end - start), lengths)
    there = where >= 0
    cells = row[there] * len(sizes) + where[there]
    near = np.bincount(cells, minlength=(end - start) * len(sizes)).reshape(-1, len(sizes)).astype(np.float64)
    free = ~fixed[nodes]
    nodes, near, before = nodes[free], near[free], part[nodes[free]]
    if not len(nodes):
        return
    np.subtract.at(sizes, before[before >= 0], 1)
    score = near - alpha * POWER * np.sqrt(sizes)
    part[nodes] = UNPLACED
    waiting = np.arange(len(nodes))
    while len(waiting):
        score[:, sizes >= most] = -np.inf
        if not np.isfinite(score[waiting]).any():  # every part is full: only where few nodes may move at all
            score[waiting] = -sizes
        wanted = score[waiting].argmax(axis=1)
        order = np.argsort(wanted, kind="stable")
        rank = np.arange(len(order)) - np.searchsorted(wanted[order], wanted[order])
        taken = order[rank < np.maximum(most - sizes[wanted[order]], 1)]
        part[nodes[waiting[taken]]] = wanted[taken]
        sizes += np.bincount(wanted[taken], minlength=len(sizes))
        waiting = np.delete(waiting, taken)


def _none_empty(part: np.ndarray, parts: int) -> np.ndarray:
    """The same, with a node of the largest part in each part that has none."""
    sizes = np.bincount(part, minlength=parts)
    for empty in np.flatnonzero(sizes == 0):
        largest = int(sizes.argmax())
        part[np.flatnonzero(part == largest)[-1]] = empty
        sizes[largest], sizes[empty] = sizes[largest] - 1, 1
    return part
