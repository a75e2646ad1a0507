"""What a perturbation did: the changes, the victims, and the graph that comes out of them.

On disk a receipt is two files: `manifest.json` with the settings and counts, `changes.npz` with the arrays.
"""

import json
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int64

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph import Features, Graph, GraphLike, Positions, as_graph
from gvdn.graph.csr import checked_csr
from gvdn.graph.graph import adjacency_from_pairs, edge_keys
from gvdn.graph.npz import read_arrays
from gvdn.schema import SETTINGS, Field, Schema, checked, read_json

Pairs = Int64[np.ndarray, "_ 2"]
Setting = bool | int | float | str | None
FORMAT = "gvdn-perturbation"
VERSION = 1
no_positions = partial(np.zeros, 0, dtype=np.int64)
no_pairs = partial(np.zeros, (0, 2), dtype=np.int64)
NAMED = ("kind", "settings", "seed", "graph", "clean_hash")


@dataclass(frozen=True, eq=False)
class Changes:
    """The difference between two graphs on the same nodes, enough to make the second from the first.

    `added` and `removed` hold each undirected edge once; edges that stay keep their weight, added ones have the weight
    1. Row i of `feature_values` is the new feature row of node `feature_rows[i]`, and likewise for the labels.
    """

    added: Pairs = field(default_factory=no_pairs)
    removed: Pairs = field(default_factory=no_pairs)
    feature_rows: Positions = field(default_factory=no_positions)
    feature_values: sp.csr_array = field(default_factory=lambda: sp.csr_array((0, 0), dtype=np.float32))
    label_rows: Positions = field(default_factory=no_positions)
    label_values: Positions = field(default_factory=no_positions)

    def apply(self, graph: Graph) -> Graph:
        """The changed graph; the given one stays as it is."""
        return replace(
            graph, adjacency=self._adjacency(graph), features=self._features(graph), labels=self._labels(graph)
        )

    def after_removing(self, removed: Pairs) -> "Changes":
        """These changes of a graph that had lost the `removed` edges, as changes of the graph that still has them.

        An edge that was removed and then added again is not changed at all.
        """
        nodes = 1 + max((int(pairs.max()) for pairs in (self.added, removed) if len(pairs)), default=0)
        before, after = edge_keys(removed, nodes), edge_keys(self.added, nodes)
        gone = np.concatenate([removed[~np.isin(before, after)], self.removed])
        return replace(self, added=self.added[~np.isin(after, before)], removed=np.unique(gone, axis=0))

    def _adjacency(self, graph: Graph) -> sp.csr_array:
        if not (len(self.added) or len(self.removed)):
            return graph.adjacency
        gone = np.isin(edge_keys(graph.edges, graph.num_nodes), edge_keys(self.removed, graph.num_nodes))
        left, added = graph.edges[~gone], np.unique(np.sort(self.added, axis=1), axis=0)
        new = added[~np.isin(edge_keys(added, graph.num_nodes), edge_keys(left, graph.num_nodes))]
        weights = np.concatenate([graph.edge_weights[~gone], np.ones(len(new), dtype=np.float32)])
        return adjacency_from_pairs(np.concatenate([left, new]), graph.num_nodes, weights)

    def _features(self, graph: Graph) -> Features:
        if not len(self.feature_rows):
            return graph.features
        if isinstance(graph.features, np.ndarray):
            dense = graph.features.copy()
            dense[self.feature_rows] = self.feature_values.toarray()
            return dense
        # Stack old and new rows, then pick the one that counts for each node: no entry-wise writing into a CSR.
        pick = np.arange(graph.num_nodes)
        pick[self.feature_rows] = graph.num_nodes + np.arange(len(self.feature_rows))
        return sp.csr_array(sp.vstack([graph.features, self.feature_values], format="csr")[pick])

    def _labels(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        labels = graph.labels.copy()
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
            "edges_added": len(self.changes.added),
            "edges_removed": len(self.changes.removed),
            "feature_rows_changed": len(self.changes.feature_rows),
            "labels_changed": len(self.changes.label_rows),
        }

    def __repr__(self) -> str:
        return f"Receipt({self._described()})"

    def _described(self) -> str:
        others = f"{len(self.perturbators):,} perturbators, " if len(self.perturbators) else ""
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


_PLAIN = [one.name for one in fields(Changes) if one.name != "feature_values"]


def save_receipt(receipt: Receipt, folder: str | Path) -> None:
    """Write the two files into a folder."""
    folder = Path(folder)
    values = receipt.changes.feature_values
    arrays = {name: getattr(receipt.changes, name) for name in _PLAIN}
    arrays |= {"victims": receipt.victims, "perturbators": receipt.perturbators}
    arrays |= {"values_data": values.data, "values_indices": values.indices, "values_indptr": values.indptr}
    arrays["values_shape"] = np.array(values.shape)
    with whole_file(folder / "changes.npz") as draft:
        np.savez_compressed(draft, **arrays)
    with whole_file(folder / "manifest.json") as draft:
        draft.write_text(json.dumps({"format": FORMAT, "version": VERSION} | receipt.summary(), indent=2) + "\n")


def load_receipt(folder: str | Path) -> Receipt:
    """The receipt of a folder that `save_receipt` or `gvdn perturb` wrote."""
    folder = Path(folder)
    manifest = _read_manifest(folder / "manifest.json")
    arrays = read_arrays(folder / "changes.npz")
    try:
        parts = (arrays[f"values_{part}"] for part in ("data", "indices", "indptr", "shape"))
        values = checked_csr("the changed features", *parts)
        if not values.has_canonical_format:
            raise InvalidInput("expected each column of the changed features once in a row, in ascending order")
        whole = {name: _whole(name, arrays[name]) for name in (*_PLAIN, "victims", "perturbators")}
    except KeyError as problem:
        raise InvalidInput(f"{folder}: the changes lack {problem}; make the perturbation again") from problem
    except InvalidInput as problem:
        raise InvalidInput(f"{folder}: {problem}; make the perturbation again") from problem
    changes = Changes(feature_values=values, **{name: whole[name] for name in _PLAIN})
    for rows, new in ((changes.feature_rows, values.shape[0]), (changes.label_rows, len(changes.label_values))):
        if len(rows) != new:
            raise InvalidInput(f"{folder}: expected one new row for each changed node; make the perturbation again")
    named = {key: manifest[key] for key in NAMED}
    receipt = Receipt(**named, changes=changes, victims=whole["victims"], perturbators=whole["perturbators"])
    if any(manifest[key] != value for key, value in receipt.summary().items()):
        raise InvalidInput(f"{folder}: the manifest counts other changes than changes.npz; make the perturbation again")
    return receipt


def _whole(name: str, array: np.ndarray) -> np.ndarray:
    """Positions, or pairs of them, as int64; anything else is refused."""
    wanted = (array.size // 2, 2) if name in ("added", "removed") else (array.size,)
    if array.dtype.kind not in "iu" or array.shape != wanted or (array.size and int(array.min()) < 0):
        raise InvalidInput(f"expected {name} as whole numbers from 0 up, got {array.dtype} of shape {array.shape}")
    if array.size and int(array.max()) >= 1 << 31:
        raise InvalidInput(f"expected {name} to be positions of nodes, got {array.max()}")
    whole = array.astype(np.int64)
    if name in ("added", "removed") and (whole[:, 0] >= whole[:, 1]).any():
        raise InvalidInput(f"expected {name} as pairs of a node and a later one")
    if name != "label_values" and len(np.unique(whole, axis=0)) < len(whole):
        raise InvalidInput(f"expected each of {name} once")
    return whole


def _require_within(receipt: Receipt, graph: Graph) -> None:
    """Raise where a receipt speaks of nodes or columns that the graph does not have."""
    changes, nodes = receipt.changes, graph.num_nodes
    parts = [changes.added, changes.removed, changes.feature_rows, changes.label_rows]
    parts += [receipt.victims, receipt.perturbators]
    highest = max((int(part.max()) for part in parts if part.size), default=-1)
    columns = changes.feature_values.shape[1] if len(changes.feature_rows) else graph.num_features
    if highest >= nodes or columns != graph.num_features:
        got = f"node {highest} and {columns} features"
        raise InvalidInput(f"expected a receipt for {nodes} nodes and {graph.num_features} features, got {got}")
    if not np.isfinite(changes.feature_values.data).all():
        raise InvalidInput("expected finite features in the receipt, got NaN or infinity")


def replay(graph: GraphLike, receipt: Receipt | str | Path) -> Perturbed:
    """Make the identical perturbed graph again from the clean graph and a receipt, or the folder of one.

    A graph with another hash than the receipt's clean graph is refused.

    >>> import gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> done = gvdn.perturb(graph, "information-sparsity", gvdn.random_split(graph, seed=0), seed=0)
    >>> gvdn.replay(graph, done.receipt).graph.hash == done.graph.hash
    True
    """
    clean = as_graph(graph)
    known = receipt if isinstance(receipt, Receipt) else load_receipt(receipt)
    if clean.hash != known.clean_hash:
        wanted = f"the graph {known.graph} with hash {known.clean_hash[:12]}, which this receipt belongs to"
        got = f"{clean.name} with hash {clean.hash[:12]}; replay it on the graph it was made from"
        raise InvalidInput(f"expected {wanted}, got {got}")
    _require_within(known, clean)
    return Perturbed(known.changes.apply(clean), known)


_MANIFEST: Schema = {
    **dict.fromkeys(("format", "kind", "graph", "clean_hash"), Field(str)),
    "version": Field(int),
    "seed": Field(int),
    "settings": SETTINGS,
    **dict.fromkeys(("victims", "perturbators", "edges_added", "edges_removed"), Field(int, low=0)),
    **dict.fromkeys(("feature_rows_changed", "labels_changed"), Field(int, low=0)),
}


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = read_json(path, "make the perturbation again")
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no manifest {path}; give a folder that gvdn perturb wrote") from problem
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a manifest of the format {FORMAT}, got something else")
    if manifest.get("version") != VERSION:
        raise InvalidInput(f"{path}: expected manifest version {VERSION}, got {manifest.get('version')}; update gvdn")
    try:
        return checked(manifest, _MANIFEST, "the manifest")
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}") from problem
