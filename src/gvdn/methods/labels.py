"""The training and validation labels of a fitted method, by node id, to train again on another graph."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, Shaped

from gvdn.graph import Graph, Split
from gvdn.graph.graph import find_ids

STORED = {
    "labels.train_ids": "ids t",
    "labels.train_labels": "labels t",
    "labels.val_ids": "ids v",
    "labels.val_labels": "labels v",
}
"""The arrays of the labels in a file."""


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """Ids and labels of the training nodes, and of the validation nodes."""

    train_ids: Shaped[np.ndarray, " t"]
    train_labels: Int64[np.ndarray, " t"]
    val_ids: Shaped[np.ndarray, " v"]
    val_labels: Int64[np.ndarray, " v"]

    @classmethod
    def of(cls, graph: Graph, split: Split) -> "StoredLabels":
        return cls(graph.ids[split.train], graph.labels[split.train], graph.ids[split.val], graph.labels[split.val])

    def on(self, graph: Graph, class_names: tuple[str, ...]) -> tuple[Graph, Split]:
        """Another graph with these labels and no others, and its split; all other nodes are test nodes."""
        labels = np.full(graph.num_nodes, -1)
        parts = []
        for ids, known in ((self.train_ids, self.train_labels), (self.val_ids, self.val_labels)):
            positions = find_ids(graph.ids, ids)
            labels[positions[positions >= 0]] = known[positions >= 0]
            parts.append(np.sort(positions[positions >= 0]))
        labelled = dataclasses.replace(graph, labels=labels, class_names=class_names)
        rest = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate(parts))
        return labelled, Split(parts[0], parts[1], rest)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, for a file."""
        return {f"labels.{name}": array for name, array in vars(self).items()}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray]) -> "StoredLabels":
        """The labels that `arrays` gave."""
        return cls(*(arrays[f"labels.{field.name}"] for field in dataclasses.fields(cls)))
