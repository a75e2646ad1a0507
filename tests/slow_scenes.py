"""Slow versions of the formulas of a scene, written with loops, for the tests of the trust model."""

import numpy as np

from gvdn.graph import Graph
from gvdn.trust.scene import BY_ROW, OF_ROW, SETTLED, STRUCTURE, Scene

NUMBERS = (*STRUCTURE, *BY_ROW)


def of_links(numbers: np.ndarray, name: str) -> np.ndarray:
    """One number of every link, from the first ends and then from the second ones."""
    return numbers[:, :, NUMBERS.index(name)].ravel()


def of_rows(numbers: np.ndarray, name: str) -> np.ndarray:
    return numbers[0, :, OF_ROW.index(name)]


def neighbours(graph: Graph, node: int) -> list[int]:
    return [int(other) for other in np.flatnonzero(graph.adjacency.toarray()[node])]


def probability(graph: Graph, parts: dict, genuine: np.ndarray, u: int, v: int) -> float:
    """That of the link between u and v."""
    for row, pair in zip(parts["judged"], graph.edges[parts["judged"]].tolist(), strict=True):
        if set(pair) == {u, v}:
            return float(genuine[parts["judged"].tolist().index(row)])
    return SETTLED


def slow_message(scene: Scene, g: float, other: int) -> list[float]:
    """log((1 - g) + g sum_l P(l) T_lk) for every class k."""
    classes = scene.stored[other] if scene.known[other] else scene.own[other]
    table = scene.learned.table
    fits = [sum(classes[one] * table[one, k] for one in range(len(table))) for k in range(len(table))]
    return [np.log(1 - g + g * fit) for fit in fits]


def slow_vote(scene: Scene, parts: dict, genuine: np.ndarray, node: int, without: int | None = None) -> np.ndarray:
    start = scene.stored[node] if scene.known[node] else scene.learned.prior
    logs = np.log(start)
    for other in neighbours(scene.graph, node):
        if other != without:
            logs = logs + slow_message(scene, probability(scene.graph, parts, genuine, node, other), other)
    probs = np.exp(logs - logs.max())
    return probs / probs.sum()


def slow_cosine(scene: Scene, parts: dict, genuine: np.ndarray, around: int, of: int) -> float:
    """The cosine of the row of one node and the weighed sum of the rows around another, without the former."""
    rows = np.zeros(scene.Z.shape[1])
    for one in neighbours(scene.graph, around):
        if one != of:
            rows = rows + probability(scene.graph, parts, genuine, around, one) * scene.Z[one]
    length = np.linalg.norm(rows)
    return float(rows @ scene.Z[of] / length / np.linalg.norm(scene.Z[of])) if length > 1e-6 else 0.0
