"""Receipts on disk, and the perturbed graph that a receipt replays to.

A receipt is two files: `manifest.json` with the settings and counts, `changes.npz` with the arrays. Version 2 has new
nodes; a receipt without any is written as version 1, as it always was.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph import Graph, GraphLike, as_graph, checks
from gvdn.graph.csr import checked_csr
from gvdn.graph.npz import read_arrays
from gvdn.limits import most_bytes, short
from gvdn.perturbations.receipt import NAMED, Changes, Perturbed, Receipt
from gvdn.schema import SETTINGS, Field, Schema, checked, read_json

FORMAT = "gvdn-perturbation"
WITH_NODES = 2
"""The version of receipts with new nodes; those without have the version 1."""
AGAIN = "make the perturbation again"
PLAIN = ("added", "removed", "feature_rows", "label_rows", "label_values")
"""The changes that are whole numbers from 0 up, and are there in every version."""


def save_receipt(receipt: Receipt, folder: str | Path) -> None:
    """Write the two files into a folder."""
    folder, changes = Path(folder), receipt.changes
    summary, version = receipt.summary(), WITH_NODES
    arrays = {name: getattr(changes, name) for name in PLAIN}
    arrays |= {"victims": receipt.victims, "perturbators": receipt.perturbators}
    arrays |= _parts("values", changes.feature_values)
    if len(changes.new_ids):
        arrays |= {"new_ids": changes.new_ids} | _parts("new", changes.new_values)
    else:
        version = 1
        del summary["nodes_added"]
    with whole_file(folder / "changes.npz") as draft:
        np.savez_compressed(draft, **arrays)
    with whole_file(folder / "manifest.json") as draft:
        draft.write_text(json.dumps({"format": FORMAT, "version": version} | summary, indent=2) + "\n")


def load_receipt(folder: str | Path) -> Receipt:
    """The receipt of a folder that `save_receipt` or `gvdn perturb` wrote."""
    folder = Path(folder)
    manifest = _read_manifest(folder / "manifest.json")
    arrays = read_arrays(folder / "changes.npz")
    try:
        values = _rows("the changed features", "values", arrays)
        whole = {name: _whole(name, arrays[name]) for name in (*PLAIN, "victims", "perturbators")}
        new = _new_nodes(arrays) if manifest["version"] == WITH_NODES else {}
    except KeyError as problem:
        raise InvalidInput(f"{folder}: the changes lack {problem}; {AGAIN}") from problem
    except InvalidInput as problem:
        raise InvalidInput(f"{folder}: {problem}; {AGAIN}") from problem
    changes = Changes(feature_values=values, **{name: whole[name] for name in PLAIN}, **new)
    for rows, number in ((changes.feature_rows, values.shape[0]), (changes.label_rows, len(changes.label_values))):
        if len(rows) != number:
            raise InvalidInput(f"{folder}: expected one new row for each changed node; {AGAIN}")
    named = {key: manifest[key] for key in NAMED}
    receipt = Receipt(**named, changes=changes, victims=whole["victims"], perturbators=whole["perturbators"])
    if any(manifest.get(key, 0) != value for key, value in receipt.summary().items()):
        raise InvalidInput(f"{folder}: the manifest counts other changes than changes.npz; {AGAIN}")
    return receipt


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


def _parts(name: str, rows: sp.csr_array) -> dict[str, np.ndarray]:
    """The arrays of a sparse matrix, by their names in the file."""
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    return {f"{name}_{part}": array for part, array in parts.items()}


def _rows(what: str, name: str, arrays: dict[str, np.ndarray]) -> sp.csr_array:
    """The sparse matrix of the arrays that `_parts` names."""
    rows = checked_csr(what, *(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")))
    if not rows.has_canonical_format:
        raise InvalidInput(f"expected each column of {what} once in a row, in ascending order")
    return rows


def _new_nodes(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The ids and feature rows of new nodes, as fields of the changes."""
    ids, values = arrays["new_ids"], _rows("the new nodes' features", "new", arrays)
    if ids.shape != values.shape[:1]:
        raise InvalidInput(f"expected an id for each of {values.shape[0]} new nodes, got shape {ids.shape}")
    return {"new_ids": checks.ids(ids, len(ids)), "new_values": values}


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
    changes, nodes, after = receipt.changes, graph.num_nodes, graph.num_nodes + len(receipt.changes.new_ids)
    for parts, limit in (
        ((changes.removed, changes.feature_rows, changes.label_rows, receipt.victims), nodes),
        ((changes.added, receipt.perturbators), after),
    ):
        highest = max((int(part.max()) for part in parts if part.size), default=-1)
        if highest >= limit:
            raise InvalidInput(f"expected a receipt for {limit} nodes, got node {highest}")
    for rows, number in ((changes.feature_values, len(changes.feature_rows)), (changes.new_values, after - nodes)):
        if number and rows.shape[1] != graph.num_features:
            raise InvalidInput(f"expected a receipt for {graph.num_features} features, got {rows.shape[1]} features")
        if not np.isfinite(rows.data).all():
            raise InvalidInput("expected finite features in the receipt, got NaN or infinity")
    if after > nodes:
        _require_new(changes, graph)


def _require_new(changes: Changes, graph: Graph) -> None:
    """Raise where new nodes have ids of another kind than the graph's, or that it has, or too many dense rows."""
    if (changes.new_ids.dtype.kind == "U") != (graph.ids.dtype.kind == "U"):
        kind = "text" if graph.ids.dtype.kind == "U" else "whole numbers"
        raise InvalidInput(f"expected ids of new nodes as {kind}, as {graph.name} has, got {changes.new_ids.dtype}")
    taken = changes.new_ids[graph.locate(changes.new_ids) >= 0]
    if taken.size:
        raise InvalidInput(f"expected new ids for new nodes, got {short(taken[0].item())}, which {graph.name} has")
    size = 4 * (graph.num_nodes + len(changes.new_ids)) * graph.num_features
    if isinstance(graph.features, np.ndarray) and size > max(most_bytes(), 2 * graph.features.nbytes):
        advice = "if you trust the receipt, set GVDN_MAX_BYTES to a larger number"
        raise InvalidInput(f"expected features of at most {most_bytes():,} bytes, got {size:,}; {advice}")


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
        manifest = read_json(path, AGAIN)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no manifest {path}; give a folder that gvdn perturb wrote") from problem
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a manifest of the format {FORMAT}, got something else")
    version = manifest.get("version")
    if version not in (1, WITH_NODES) or isinstance(version, bool):
        wanted = f"manifest version 1 or {WITH_NODES}"
        raise InvalidInput(f"{path}: expected {wanted}, got {short(version)}; update gvdn")
    counted: Schema = {"nodes_added": Field(int, low=1)} if version == WITH_NODES else {}
    try:
        return checked(manifest, {**_MANIFEST, **counted}, "the manifest")
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}") from problem
