"""What an epoch on parts costs each worker: bytes, operations, memory, seconds; `docs/cost-model.md` explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass

FLOAT, WHOLE, INDEX = 4, 8, 4
"""Bytes of a weight, of a whole number of an exact sum, and of an index."""
OTHERS = 100
"""Bytes of each node for ids, labels, strengths, norms, and the neighbourhoods of training nodes."""
A_FEW, DIRECTIONS = 80, 48
"""Bytes of a node in a diagnosis besides features and classes, its id among them; directions of feature rows."""
KEPT = 13
"""Matrices n x h that are kept of a part between its forward and its backward pass."""


@dataclass(frozen=True)
class Size:
    """A graph and a network.

    Attributes:
        nodes, links: of the whole graph; a link counts once.
        features, hidden, classes: d, h and K.
        parts: of the graph, all workers' together.
        cut: the share of the links whose ends two workers own.
        selected: the share of the halo whose rows Algorithm 1 takes the mean of.
    """

    nodes: int
    links: int
    features: int
    hidden: int
    classes: int
    parts: int
    cut: float
    selected: float = 0.02


@dataclass(frozen=True)
class Rates:
    """Seconds of one thread: for a multiplication and addition of the first layer, an element of an n x h matrix, an
    entry of S times a column, and an element of S X; measured by `benchmarks/parts.py rates`."""

    product: float
    element: float
    entry: float
    feature: float


def halo(size: Size, workers: int) -> float:
    """Rows that a worker sends in one exchange: its nodes, once for each part of another worker that they link to.

    The ends of cut links are taken as drawn at random among the nodes of the worker and the parts of the others.
    """
    if workers == 1:
        return 0.0
    places = size.nodes / workers * size.parts * (1 - 1 / workers)
    return places * -math.expm1(-2 * size.cut * size.links / workers / places)


def sent_bytes(size: Size, workers: int, rows: float | None = None, selected: float | None = None) -> float:
    """Bytes that a worker sends in an epoch: 12 K + 1 for each row of its halo (forward, backward, validation, and the
    predicted class), 8 K + 8 for each selected row, and the gradients of the shared weights, added up in a ring."""
    if workers == 1:
        return 0.0
    rows = halo(size, workers) if rows is None else rows
    selected = size.selected * rows if selected is None else selected
    K, shared = size.classes, 3 * size.features * size.hidden + size.hidden * size.classes
    label = 1 if K <= 256 else 4
    exchanged = rows * (3 * FLOAT * K + label) + selected * (2 * FLOAT * K + WHOLE)
    return exchanged + 2 * (workers - 1) / workers * WHOLE * shared


def diagnosis_bytes(size: Size, rows: float, ends: float) -> float:
    """Bytes that a worker sends in a diagnosis: for each row of its halo the features twice, class probabilities and a
    few numbers; for each that is an end of a new link, what its links say in every round of the trust model, and which
    neighbours it has.

    Args:
        rows: of its halo.
        ends: those of them that are ends of new links.
    """
    K, rounds = size.classes, 6
    degree = 2 * size.links / size.nodes
    said = rounds * (WHOLE * (3 * K + 1) + FLOAT * DIRECTIONS) + 2 * WHOLE * 3 * K
    return rows * (2 * FLOAT * size.features + 7 * FLOAT * K + A_FEW) + ends * (said + (FLOAT + INDEX) * degree + WHOLE)


def operations(size: Size, workers: int) -> dict[str, float]:
    """Of a worker in an epoch: multiplications of the first layer (three heads forward and backward, two more for the
    validation), elements of n x h, entries of S times columns (forward, backward, validation), elements of S X."""
    n, entries = size.nodes / workers, (2 * size.links + size.nodes) / workers
    return {
        "product": 8 * n * size.features * size.hidden,
        "element": n * size.hidden,
        "entry": 3 * entries * size.classes,
        "feature": n * size.features,
    }


def computing_seconds(size: Size, workers: int, rates: Rates, threads: int = 1) -> float:
    """Seconds that a worker computes in an epoch, on so many threads' worth of processor."""
    return sum(getattr(rates, name) * number for name, number in operations(size, workers).items()) / threads


def sending_seconds(size: Size, workers: int, bits_per_second: float) -> float:
    """Seconds that its bytes take on a network of this speed."""
    return 8 * sent_bytes(size, workers) / bits_per_second


def memory_bytes(size: Size, workers: int, *, recompute: bool = True) -> float:
    """Bytes that a worker holds, besides libraries: W_z, its moments and the best of it, S X, the links, a few numbers
    of each node, what was exchanged, and what the backward pass needs of all of its parts.

    Args:
        recompute: `--save-memory`: what the backward pass needs of one part, and the best W_z is on the disk.
    """
    n, entries = size.nodes / workers, (2 * size.links + size.nodes) / workers
    at_once = size.nodes / size.parts if recompute else n
    each = FLOAT * ((3 if recompute else 4) * size.hidden + size.features + 5 * size.classes) + OTHERS
    exchanged = FLOAT * 2 * size.classes * halo(size, workers)
    return each * n + exchanged + (INDEX + FLOAT) * entries + FLOAT * (KEPT * size.hidden + size.features) * at_once
