"""What settings, graphs and splits must hold before a method uses them."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph, Positions, Split, with_structural_features


def with_features(graph: Graph, columns: Columns | None = None) -> Graph:
    """The graph as it is, or one without any features with those of its links.

    `columns` are those of the model that it is for; a model of other features than those of links refuses such a graph.
    """
    if graph.num_features or (columns is not None and columns.structure is None):
        return graph
    return with_structural_features(graph, columns)


def require_trainable(graph: Graph, split: Split) -> None:
    """Raise unless there are training labels of at least two classes."""
    farthest = max((int(part.max()) for part in (split.train, split.val, split.test) if len(part)), default=0)
    if farthest >= graph.num_nodes:
        raise InvalidInput(f"the split names node {farthest}, but {graph.name} has {graph.num_nodes}; split it again")
    labels = graph.labels[split.train]
    if (labels < 0).any():
        node = graph.ids[split.train][labels < 0][0]
        raise InvalidInput(f"the training node {node} has no label; leave it out of the split")
    if len(np.unique(labels)) < 2:
        raise InvalidInput(
            f"expected training nodes of at least two classes, got only {graph.class_names[labels[0]]!r} in "
            f"{graph.name}; give more training nodes"
        )


def require_columns(graph: Graph, number: int, names: tuple[str, ...], columns: Columns | None = None) -> None:
    """Raise unless the graph has this number of feature columns, with these names where both are named.

    Features that were made of a table must have been made as the model's were: by the same `columns`.
    """
    theirs = graph.columns
    if theirs is not None and not (theirs.is_plain if columns is None else theirs.encodes_as(columns)):
        differs = "the model's features are from no table" if columns is None else columns.difference(theirs)
        raise InvalidInput(
            f"the features of {graph.name} were made of its table otherwise than those of the model ({differs}); load "
            "it with gvdn.load_graph(path, columns=model.columns_), or Graph.from_tables likewise"
        )
    if graph.num_features != number:
        raise InvalidInput(
            f"the model was fitted on {number} features, got {graph.num_features} in {graph.name}; "
            "give the same columns in the same order"
        )
    for column, (fitted, given) in enumerate(zip(names, graph.feature_names, strict=False)):
        if fitted != given:
            raise InvalidInput(
                f"feature column {column + 1} was {fitted!r} when the model was fitted, got {given!r} in "
                f"{graph.name}; give the same columns in the same order"
            )


def labelled_nodes(graph: Graph, where: Split | np.ndarray | None) -> Positions:
    """The labelled nodes among the test nodes of a split, among these positions (or a mask), or of the whole graph."""
    chosen = np.arange(graph.num_nodes) if where is None else where.test if isinstance(where, Split) else where
    chosen = np.asarray(chosen)
    if chosen.dtype.kind == "b" and chosen.shape == (graph.num_nodes,):
        chosen = np.flatnonzero(chosen)
    whole = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not chosen.size)
    if not whole or (chosen.size and not 0 <= chosen.min() <= chosen.max() < graph.num_nodes):
        raise InvalidInput(
            f"expected a Split, positions from 0 to {graph.num_nodes - 1} or a mask of the nodes, got {where!r}"
        )
    nodes = chosen.astype(np.int64)
    nodes = nodes[graph.labels[nodes] >= 0]
    if not nodes.size:
        raise InvalidInput(f"expected at least one labelled node of {graph.name} to score, got none; give its labels")
    return nodes


def labels_by_name(graph: Graph, class_names: tuple[str, ...]) -> Positions:
    """The label of each node as a number among these classes; one past the last for any other class."""
    numbers = {name: number for number, name in enumerate(class_names)}
    table = [numbers.get(name, len(class_names)) for name in graph.class_names]
    return np.array([*table, -1], dtype=np.int64)[graph.labels]


def known_labels(graph: Graph, class_names: tuple[str, ...]) -> Positions:
    """The label of each node as a number among these classes; raises at a class that is not among them."""
    labels = labels_by_name(graph, class_names)
    other = np.flatnonzero(labels == len(class_names))
    if other.size:
        name = graph.class_names[graph.labels[other[0]]]
        raise InvalidInput(
            f"the model knows no class {name!r}, which node {graph.ids[other[0]]} of {graph.name} has; fit it anew"
        )
    return labels


RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "at least 1": ("{} of at least 1", lambda value: value >= 1),
    "at most 10,000": ("{} of at most 10,000", lambda value: value <= 10_000),
    "at most 1,000,000": ("{} of at most 1,000,000", lambda value: value <= 1_000_000),
    "[0, 1)": ("{} in [0, 1)", lambda value: 0 <= value < 1),
    "[0, 1]": ("{} in [0, 1]", lambda value: 0 <= value <= 1),
    "positive": ("a positive {}", lambda value: 0 < value < math.inf),
    "at least 0": ("{} of at least 0", lambda value: 0 <= value < math.inf),
}


def require_ranges(model: object, ranges: Mapping[str, tuple[str, ...]]) -> None:
    """Raise at the first setting that is not in the range it is listed under; None is in every range."""
    for key, names in ranges.items():
        wanted, holds = RANGES[key]
        for name in names:
            value = getattr(model, name)
            if value is not None and not holds(value):
                raise InvalidInput(f"expected {wanted.format(name)}, got {value}")
