"""The labels that a fitted method was given, by node id, to train again on another graph."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, Shaped

from gvdn.graph import Graph, Split
from gvdn.graph.graph import find_ids
from gvdn.seeds import derive

STORED = {
    "labels.train_ids": "ids t",
    "labels.train_labels": "labels t",
    "labels.val_ids": "ids v",
    "labels.val_labels": "labels v",
    "labels.test_ids": "ids u",
}
"""The arrays of the labels in a file."""


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """Ids and labels of the training and of the validation nodes; of test nodes the ids alone.

    The test nodes are known so that an update does not take their labels for ones that arrived since.
    """

    train_ids: Shaped[np.ndarray, " t"]
    train_labels: Int64[np.ndarray, " t"]
    val_ids: Shaped[np.ndarray, " v"]
    val_labels: Int64[np.ndarray, " v"]
    test_ids: Shaped[np.ndarray, " u"]

    @classmethod
    def of(cls, graph: Graph, split: Split) -> "StoredLabels":
        train, val = ((graph.ids[part], graph.labels[part]) for part in (split.train, split.val))
        return cls(*train, *val, graph.ids[split.test])

    def grown(self, graph: Graph, labels: Int64[np.ndarray, " n"], seed: int) -> "StoredLabels":
        """The labels of a later graph's nodes: of stored nodes that are still there, and of those that arrived since.

        A label that changed is taken as it is now. Labels that arrived are divided into training and validation nodes
        as the stored ones are, by a hash of the id, so that a node is in the same part whichever day it arrives.
        """
        parts = []
        for ids, known in ((self.train_ids, self.train_labels), (self.val_ids, self.val_labels)):
            positions = find_ids(graph.ids, ids)
            there = positions >= 0
            now = labels[positions[there]]
            parts.append((ids[there], np.where(now >= 0, now, known[there])))
        known_ids = np.concatenate([self.train_ids, self.val_ids, self.test_ids]).astype(graph.ids.dtype)
        arrived = np.flatnonzero((labels >= 0) & (find_ids(known_ids, graph.ids) < 0))
        share = len(self.val_ids) / max(len(self.val_ids) + len(self.train_ids), 1)
        drawn = [derive(seed, "update", str(node)) / 2**63 < share for node in graph.ids[arrived].tolist()]
        chosen = np.array(drawn, dtype=bool)
        (train_ids, train_labels), (val_ids, val_labels) = (
            (np.concatenate([ids, graph.ids[new]]), np.concatenate([old, labels[new]]))
            for (ids, old), new in zip(parts, (arrived[~chosen], arrived[chosen]), strict=True)
        )
        test_ids = self.test_ids[find_ids(graph.ids, self.test_ids) >= 0]
        return StoredLabels(train_ids, train_labels, val_ids, val_labels, test_ids)

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
