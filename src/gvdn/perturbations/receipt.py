"""What a perturbation did: the changes, the victims, and the graph that comes out of them."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int64, Shaped

from gvdn.graph import Features, Graph, Positions, has_structural_features, with_structural_features
from gvdn.graph.edges import are_among, find_keys, sorted_once
from gvdn.graph.graph import UNLABELLED, adjacency_from_pairs, edge_keys

Pairs = Int64[np.ndarray, "_ 2"]
Setting = bool | int | float | str | None
no_positions = partial(np.zeros, 0, dtype=np.int64)
no_pairs = partial(np.zeros, (0, 2), dtype=np.int64)
no_rows = partial(sp.csr_array, (0, 0), dtype=np.float32)
NAMED = ("kind", "settings", "seed", "graph", "clean_hash")


@dataclass(frozen=True, eq=False)
class Changes:
    """The difference between two graphs, enough to make the second from the first.

    `added` and `removed` hold each undirected edge once; edges that stay keep their weight, added ones have the weight
    1. Row i of `feature_values` is the new feature row of node `feature_rows[i]`, and likewise for the labels.

    New nodes have the ids `new_ids` and the feature rows `new_values`, and no label. They stand behind the nodes that
    were there, which keep their positions; `added` may link to them.
    """

    added: Pairs = field(default_factory=no_pairs)
    removed: Pairs = field(default_factory=no_pairs)
    feature_rows: Positions = field(default_factory=no_positions)
    feature_values: sp.csr_array = field(default_factory=no_rows)
    label_rows: Positions = field(default_factory=no_positions)
    label_values: Positions = field(default_factory=no_positions)
    new_ids: Shaped[np.ndarray, " new"] = field(default_factory=no_positions)
    new_values: sp.csr_array = field(default_factory=no_rows)

    def apply(self, graph: Graph) -> Graph:
        """The changed graph; the given one stays as it is.

        Features that were computed from links are computed from the new ones; only rows that are changed themselves are
        as the changes say.
        """
        changed = replace(
            graph,
            adjacency=self._adjacency(graph),
            features=self._features(graph),
            labels=self._labels(graph),
            ids=np.concatenate([graph.ids, self.new_ids]) if len(self.new_ids) else graph.ids,
        )
        if changed.adjacency is graph.adjacency or not has_structural_features(graph):
            return changed
        features = with_structural_features(changed, graph.columns).dense_features()
        if len(self.feature_rows):
            features[self.feature_rows] = self.feature_values.toarray()
        return replace(changed, features=features)

    def after_removing(self, removed: Pairs) -> "Changes":
        """These changes of a graph that had lost the `removed` edges, as changes of the graph that still has them.

        An edge that was removed and then added again is not changed at all.
        """
        nodes = 1 + max((int(pairs.max()) for pairs in (self.added, removed) if len(pairs)), default=0)
        before, after = edge_keys(removed, nodes), edge_keys(self.added, nodes)
        gone = np.concatenate([removed[~np.isin(before, after)], self.removed])
        return replace(self, added=self.added[~np.isin(after, before)], removed=np.unique(gone, axis=0))

    def _adjacency(self, graph: Graph) -> sp.csr_array:
        if not (len(self.added) or len(self.removed) or len(self.new_ids)):
            return graph.adjacency
        nodes = graph.num_nodes + len(self.new_ids)
        there = edge_keys(graph.edges, nodes)
        left = ~are_among(there, edge_keys(self.removed, nodes))
        added = sorted_once(edge_keys(np.sort(self.added, axis=1), nodes))
        new = added[find_keys(there[left], added) < 0]
        pairs = np.concatenate([graph.edges[left], np.stack(np.divmod(new, nodes), axis=1)])
        weights = np.concatenate([graph.edge_weights[left], np.ones(len(new), dtype=np.float32)])
        return adjacency_from_pairs(pairs, nodes, weights)

    def _features(self, graph: Graph) -> Features:
        changed, new = len(self.feature_rows), len(self.new_ids)
        if not (changed or new):
            return graph.features
        if isinstance(graph.features, np.ndarray):
            dense = np.concatenate([graph.features, self.new_values.toarray()]) if new else graph.features.copy()
            if changed:
                dense[self.feature_rows] = self.feature_values.toarray()
            return dense
        # Stack old and new rows, then pick the one that counts for each node: no entry-wise writing into a CSR.
        pick = np.arange(graph.num_nodes + new)
        pick[graph.num_nodes :] += changed
        pick[self.feature_rows] = graph.num_nodes + np.arange(changed)
        parts = [graph.features, *([self.feature_values] if changed else []), *([self.new_values] if new else [])]
        return sp.csr_array(sp.vstack(parts, format="csr")[pick])

    def _labels(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        if not (len(self.label_rows) or len(self.new_ids)):
            return graph.labels
        labels = np.concatenate([graph.labels, np.full(len(self.new_ids), UNLABELLED, dtype=np.int64)])
        labels[self.label_rows] = self.label_values
        return labels


@dataclass(frozen=True, eq=False, repr=False)
class Receipt:
    """Everything needed to make the perturbed graph again from the clean one, and to count what was done."""

    kind: str
    settings: dict[str, Setting]
    seed: int
    graph: str
    clean_hash: str
    changes: Changes
    victims: Positions
    perturbators: Positions = field(default_factory=no_positions)

    def summary(self) -> dict[str, object]:
        """The receipt in numbers, without the arrays."""
        return {key: getattr(self, key) for key in NAMED} | {
            "victims": len(self.victims),
            "perturbators": len(self.perturbators),
            "nodes_added": len(self.changes.new_ids),
            "edges_added": len(self.changes.added),
            "edges_removed": len(self.changes.removed),
            "feature_rows_changed": len(self.changes.feature_rows),
            "labels_changed": len(self.changes.label_rows),
        }

    def __repr__(self) -> str:
        return f"Receipt({self._described()})"

    def _described(self) -> str:
        others = f"{len(self.perturbators):,} perturbators, " if len(self.perturbators) else ""
        others += f"nodes +{len(self.changes.new_ids):,}, " if len(self.changes.new_ids) else ""
        return (
            f"{self.graph!r} by {self.kind}, seed {self.seed}: {len(self.victims):,} victims, {others}"
            f"edges +{len(self.changes.added):,} -{len(self.changes.removed):,}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed:
    """A perturbed graph and its receipt."""

    graph: Graph
    receipt: Receipt

    @property
    def victims(self) -> Positions:
        """Positions of the nodes that the perturbation is meant to hurt; methods are scored on them."""
        return self.receipt.victims

    @property
    def perturbators(self) -> Positions:
        """Positions of the nodes through which it acts; none where it acts on the victims themselves."""
        return self.receipt.perturbators

    @property
    def added(self) -> Pairs:
        """New edges as pairs of positions, each once."""
        return self.receipt.changes.added

    @property
    def removed(self) -> Pairs:
        """Removed edges as pairs of positions, each once."""
        return self.receipt.changes.removed

    def __repr__(self) -> str:
        return f"Perturbed({self.receipt._described()})"
