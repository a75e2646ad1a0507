"""Who a model was taught by: the labels of its training and validation nodes, by id, for learning again later."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, Shaped

from gvdn.graph import Graph, Split
from gvdn.graph.graph import find_ids


@dataclass(frozen=True, eq=False)
class Teaching:
    """Ids and labels of the nodes that were learned from, and of those that chose the epoch."""

    train_ids: Shaped[np.ndarray, " t"]
    train_labels: Int64[np.ndarray, " t"]
    val_ids: Shaped[np.ndarray, " v"]
    val_labels: Int64[np.ndarray, " v"]

    @classmethod
    def of(cls, graph: Graph, split: Split) -> Teaching:
        train, val = split.train, split.val
        return cls(graph.ids[train], graph.labels[train], graph.ids[val], graph.labels[val])

    def on(self, graph: Graph, class_names: tuple[str, ...]) -> tuple[Graph, Split]:
        """Another graph with these labels and no others, and the split that says which is which."""
        labels = np.full(graph.num_nodes, -1)
        parts = []
        for ids, known in ((self.train_ids, self.train_labels), (self.val_ids, self.val_labels)):
            places = find_ids(graph.ids, ids)
            labels[places[places >= 0]] = known[places >= 0]
            parts.append(np.sort(places[places >= 0]))
        taught = dataclasses.replace(graph, labels=labels, class_names=class_names)
        rest = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate(parts))
        return taught, Split(parts[0], parts[1], rest)

    def arrays(self) -> dict[str, np.ndarray]:
        """By name, for a file."""
        return {f"teaching.{name}": array for name, array in vars(self).items()}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray]) -> Teaching:
        """The one that `arrays` described."""
        return cls(*(arrays[f"teaching.{field.name}"] for field in dataclasses.fields(cls)))
