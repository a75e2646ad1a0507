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


def slow_classes(scene: Scene, node: int, honest: np.ndarray | None = None) -> np.ndarray:
    """What is stored of a node, or else what its row says as far as it is honest."""
    if scene.known[node]:
        return scene.stored[node]
    trust = 1.0 if honest is None else float(honest[node])
    return trust * scene.own[node] + (1 - trust) * scene.learned.prior


def slow_message(
    scene: Scene, g: float, other: int, aim: int | None = None, honest: np.ndarray | None = None
) -> np.ndarray:
    """log((1 - g) h + g sum_l P(l) T_lk) for every class k; h = 1, or P(a) / prior(a) if hostile links aim at a."""
    classes, table = slow_classes(scene, other, honest), scene.learned.table
    anywhere = 1.0 if aim is None else classes[aim] / scene.learned.prior[aim]
    fits = [sum(classes[one] * table[one, k] for one in range(len(table))) for k in range(len(table))]
    return np.array([np.log((1 - g) * anywhere + g * fit) for fit in fits])


def slow_total(
    scene: Scene, parts: dict, genuine: np.ndarray, node: int, *, aim: int | None = None, without: int | None = None,
    by_row: bool = False, honest: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """What is stored, the row if asked for, and all links by one account of where hostile links go."""
    prior = scene.learned.prior
    logs = np.log(scene.stored[node] if scene.known[node] else prior)
    if by_row:
        logs = logs + np.log(0.95 * scene.own[node] / prior + 0.05)
    in_question = {frozenset(pair) for pair in scene.graph.edges[parts["judged"]].tolist()}
    for other in neighbours(scene.graph, node):
        if other != without:
            towards = aim if frozenset((node, other)) in in_question else None
            g = probability(scene.graph, parts, genuine, node, other)
            logs = logs + slow_message(scene, g, other, towards, honest)
    if aim is not None:
        logs = logs + np.log(0.25 / 2 / 0.75)
        logs[aim] = -np.inf
    return logs


def slow_vote(
    scene: Scene, parts: dict, genuine: np.ndarray, node: int, without: int | None = None, *, by_row: bool = False,
    honest: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The sum over three accounts: hostile links go anywhere, or to one of the two classes that all links name most."""
    all_links = slow_total(scene, parts, genuine, node, by_row=by_row, honest=honest)
    named = sorted(range(len(all_links)), key=lambda k: -all_links[k])[:2]
    probs = sum(
        np.exp(slow_total(scene, parts, genuine, node, aim=aim, without=without, by_row=by_row, honest=honest))
        for aim in (None, *named)
    )
    return probs / probs.sum()


def slow_cosine(
    scene: Scene, parts: dict, genuine: np.ndarray, around: int, of: int, honest: np.ndarray | None = None
) -> float:
    """The cosine of the row of one node and the weighed sum of the rows around another, without the former."""
    rows = np.zeros(scene.Z.shape[1])
    for one in neighbours(scene.graph, around):
        if one != of:
            trust = 1.0 if honest is None else honest[one]
            rows = rows + probability(scene.graph, parts, genuine, around, one) * trust * scene.Z[one]
    length = np.linalg.norm(rows)
    return float(rows @ scene.Z[of] / length / np.linalg.norm(scene.Z[of])) if length > 1e-6 else 0.0
