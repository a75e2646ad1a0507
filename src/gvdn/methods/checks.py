"""What settings, a graph and a split must hold before anything is learned from them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split


def require_trainable(graph: Graph, split: Split) -> None:
    """Raise unless there are features, and labels of at least two classes, to learn from."""
    if graph.num_features == 0:
        raise InvalidInput(f"the graph {graph.name} has no features; give its nodes at least one feature column")
    farthest = max((int(part.max()) for part in (split.train, split.val, split.test) if len(part)), default=0)
    if farthest >= graph.num_nodes:
        raise InvalidInput(
            f"the split speaks of node {farthest}, but {graph.name} has {graph.num_nodes}; split it anew"
        )
    taught = graph.labels[split.train]
    if (taught < 0).any():
        node = graph.ids[split.train][taught < 0][0]
        raise InvalidInput(f"the training node {node} has no label; leave it out of the split")
    if len(np.unique(taught)) < 2:
        raise InvalidInput(
            f"expected training nodes of at least two classes, got only {graph.class_names[taught[0]]!r} in "
            f"{graph.name}; give more training nodes"
        )


def require_settings(
    model: object,
    *,
    counts: tuple[str, ...] = (),
    shares: tuple[str, ...] = (),
    positive: tuple[str, ...] = (),
    not_negative: tuple[str, ...] = (),
) -> None:
    """Raise at the first setting that is not a whole number from 1, in [0, 1), above 0 or from 0, as its group says."""
    rules: tuple[tuple[tuple[str, ...], str, Callable[[float], bool]], ...] = (
        (counts, "{} of at least 1", lambda value: value >= 1),
        (shares, "{} in [0, 1)", lambda value: 0 <= value < 1),
        (positive, "a positive {}", lambda value: 0 < value < math.inf),
        (not_negative, "{} of at least 0", lambda value: 0 <= value < math.inf),
    )
    for names, wanted, holds in rules:
        for name in names:
            value = getattr(model, name)
            if not holds(value):
                raise InvalidInput(f"expected {wanted.format(name)}, got {value}")
