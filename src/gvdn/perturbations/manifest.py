"""A receipt on disk (`manifest.json` with the settings and counts, `changes.npz` with the arrays), and its replay."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph import GraphLike, as_graph
from gvdn.graph.npz import read_arrays
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt

FORMAT = "gvdn-perturbation"
VERSION = 1
PLAIN = [field.name for field in fields(Changes) if field.name != "feature_values"]


def save_receipt(receipt: Receipt, folder: str | Path) -> None:
    """Write the two files into a folder."""
    folder = Path(folder)
    values = receipt.changes.feature_values
    arrays = {name: getattr(receipt.changes, name) for name in PLAIN}
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
        values = sp.csr_array(
            (arrays["values_data"], arrays["values_indices"], arrays["values_indptr"]),
            shape=tuple(arrays["values_shape"]),
        )
        changes = Changes(feature_values=values, **{name: arrays[name] for name in PLAIN})
        named = {key: manifest[key] for key in ("kind", "settings", "seed", "graph", "clean_hash")}
        return Receipt(**named, changes=changes, victims=arrays["victims"], perturbators=arrays["perturbators"])
    except KeyError as problem:
        raise InvalidInput(f"{folder}: the manifest lacks {problem}; make the perturbation again") from problem


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
        raise InvalidInput(
            f"expected the graph {known.graph} with hash {known.clean_hash[:12]}, which this receipt belongs to, "
            f"got {clean.name} with hash {clean.hash[:12]}; replay it on the graph it was made from"
        )
    return Perturbed(known.changes.apply(clean), known)


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text())
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no manifest {path}; give a folder that gvdn perturb wrote") from problem
    except ValueError as problem:
        raise InvalidInput(f"{path}: not whole JSON ({problem}); make the perturbation again") from problem
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a manifest of the format {FORMAT}, got something else")
    if manifest.get("version") != VERSION:
        raise InvalidInput(f"{path}: expected manifest version {VERSION}, got {manifest.get('version')}; update gvdn")
    return manifest
