"""What must be true of everything that a reader accepts, written without gvdn's own checks."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np


class Invalid(Exception):
    """Something was accepted that is not valid."""


def require(true: bool, what: str) -> None:
    if not true:
        raise Invalid(what)


def check_csr(what: str, matrix: Any, shape: tuple[int, int]) -> None:
    """Row starts and columns that no native code can be led astray by."""
    starts, columns, data = matrix.indptr, matrix.indices, matrix.data
    require(tuple(matrix.shape) == shape, f"{what}: shape {matrix.shape}, expected {shape}")
    require(starts.dtype.kind == "i" and columns.dtype.kind == "i", f"{what}: indices are {columns.dtype}")
    require(len(starts) == shape[0] + 1 and int(starts[0]) == 0, f"{what}: row starts do not begin with 0")
    require(bool((np.diff(starts) >= 0).all()), f"{what}: row starts fall")
    require(int(starts[-1]) == len(columns) == len(data), f"{what}: row starts do not end with the number of entries")
    if len(columns):
        require(int(columns.min()) >= 0 and int(columns.max()) < shape[1], f"{what}: a column is out of range")
    rows = np.repeat(np.arange(shape[0]), np.diff(starts))
    keys = rows * max(shape[1], 1) + columns.astype(np.int64)
    require(bool((np.diff(keys) > 0).all()), f"{what}: columns are not sorted, or there twice")


def check_published(known: Any) -> None:
    """Splits of 0 to 3 and whole numbers as times, one row for each id, and each id once."""
    require(len({str(one) for one in known.ids}) == len(known.ids), "published: an id twice")
    require(known.splits.dtype == np.int8 and known.splits.shape[0] == len(known.ids), "published: splits")
    require(bool(np.isin(known.splits, (0, 1, 2, 3)).all()), "published: a part that is none")
    if known.times is not None:
        require(known.times.dtype == np.int64 and known.times.shape == (len(known.ids),), "published: times")


def check_graph(graph: Any) -> None:
    """A graph is symmetric, sorted, finite, without loops, with labels in range and unique names."""
    nodes = graph.num_nodes
    check_csr("adjacency", graph.adjacency, (nodes, nodes))
    rows = np.repeat(np.arange(nodes), np.diff(graph.adjacency.indptr))
    columns = graph.adjacency.indices.astype(np.int64)
    require(not (rows == columns).any(), "adjacency: a loop")
    there, back = np.sort(rows * nodes + columns), np.sort(columns * nodes + rows)
    require(np.array_equal(there, back), "adjacency: not symmetric")
    weights = graph.adjacency.data
    require(bool((np.isfinite(weights) & (weights > 0)).all()), "adjacency: a weight is not positive and finite")
    require(np.array_equal(graph.adjacency.T.tocsr().data, weights), "adjacency: two weights of one edge")
    require(all(isinstance(note, str) for note in graph.notes), "notes: not text")
    features = graph.features
    require(features.dtype == np.float32, f"features: {features.dtype}")
    if isinstance(features, np.ndarray):
        require(features.ndim == 2 and len(features) == nodes, f"features: shape {features.shape}")
        require(bool(np.isfinite(features).all()), "features: NaN or infinite")
    else:
        check_csr("features", features, (nodes, features.shape[1]))
        require(bool(np.isfinite(features.data).all()), "features: NaN or infinite")
    if graph.published is not None:
        check_published(graph.published)
    labels = graph.labels
    require(labels.shape == (nodes,) and labels.dtype == np.int64, f"labels: {labels.dtype} of shape {labels.shape}")
    require(int(labels.min()) >= -1 and int(labels.max()) < len(graph.class_names), "labels: out of range")
    require(graph.ids.shape == (nodes,) and graph.ids.dtype.kind in "iU", f"ids: {graph.ids.dtype}")
    require(len(set(graph.ids.tolist())) == nodes, "ids: not unique")
    for what, names in (("class names", graph.class_names), ("feature names", graph.feature_names)):
        require(isinstance(names, tuple) and all(type(name) is str for name in names), f"{what}: not text")
        require(len(set(names)) == len(names), f"{what}: not unique")
    require(len(graph.feature_names) in (0, features.shape[1]), "feature names: not one each")
    require(type(graph.name) is str and bool(re.fullmatch(r"[0-9a-f]{64}", graph.hash)), "name or hash: not text")


def check_same_content(graph: Any, arrays: dict[str, np.ndarray]) -> None:
    """The graph holds what its npz says, number by number."""
    starts, columns = arrays["adj_indptr"].tolist(), arrays["adj_indices"].tolist()
    said = {(row, column) for row in range(len(starts) - 1) for column in columns[starts[row] : starts[row + 1]]}
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.adjacency.indptr)).tolist()
    require(
        said == set(zip(rows, graph.adjacency.indices.tolist(), strict=True)), "the edges are not those of the file"
    )
    require("adj_data" in arrays or not graph.is_weighted, "weights that are not in the file")
    require(arrays["y"].tolist() == graph.labels.tolist(), "the labels are not those of the file")
    if "ids" in arrays:
        require(
            [*map(str, arrays["ids"].tolist())] == [*map(str, graph.ids.tolist())], "the ids are not those of the file"
        )
    for key, names in (("class_names", graph.class_names), ("feature_names", graph.feature_names)):
        if key in arrays and arrays[key].size:
            require(arrays[key].tolist() == list(names), f"the {key} are not those of the file")
    if "x" in arrays and not arrays["x"].size:
        require(graph.num_features >= 2, "a graph without features got none of its links")
    elif "x" in arrays:
        with np.errstate(over="ignore"):
            same = np.array_equal(arrays["x"].astype(np.float32), graph.dense_features())
        require(same, "the features are not those of the file")
    elif "x_indptr" in arrays:
        starts, columns, data = (arrays[f"x_{part}"].tolist() for part in ("indptr", "indices", "data"))
        dense: dict[tuple[int, Any], float] = {}
        for row in range(len(starts) - 1):
            for at in range(starts[row], starts[row + 1]):
                dense[row, columns[at]] = dense.get((row, columns[at]), 0.0) + data[at]
        check = graph.features if not isinstance(graph.features, np.ndarray) else None
        require(check is not None, "sparse features became dense")
        rows = np.repeat(np.arange(graph.num_nodes), np.diff(check.indptr)).tolist()
        held = dict(zip(zip(rows, check.indices.tolist(), strict=True), check.data.tolist(), strict=True))
        near = all(
            math.isclose(held.get(at, 0.0), dense.get(at, 0.0), rel_tol=1e-5, abs_tol=1e-37)
            for at in held.keys() | dense
        )
        require(near, "the features are not those of the file")


def check_receipt(receipt: Any, graph: Any) -> None:
    """All positions are in the graph, all numbers finite, all fields of their types."""
    nodes, changes = graph.num_nodes, receipt.changes
    for what in ("kind", "graph", "clean_hash"):
        require(type(getattr(receipt, what)) is str, f"receipt: {what} is no text")
    require(type(receipt.seed) is int, "receipt: the seed is no whole number")
    plain = isinstance(receipt.settings, dict) and all(
        type(name) is str and (value is None or type(value) in (bool, int, float, str))
        for name, value in receipt.settings.items()
    )
    require(plain, "receipt: a setting is no word or number")
    check_new_nodes(changes, graph)
    after = nodes + len(changes.new_ids)
    positions = {"victims": receipt.victims, "feature_rows": changes.feature_rows, "label_rows": changes.label_rows}
    for what, rows in (positions | {"perturbators": receipt.perturbators}).items():
        most = after if what == "perturbators" else nodes
        require(rows.ndim == 1 and rows.dtype == np.int64, f"receipt: {what} of another type or shape")
        require(not rows.size or (int(rows.min()) >= 0 and int(rows.max()) < most), f"receipt: {what} out of range")
        require(len(np.unique(rows)) == len(rows), f"receipt: {what} there twice")
    for what, pairs, most in (("added", changes.added, after), ("removed", changes.removed, nodes)):
        require(pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype == np.int64, f"receipt: {what} are no pairs")
        require(not pairs.size or (int(pairs.min()) >= 0 and int(pairs.max()) < most), f"receipt: {what} out of range")
        require(bool((pairs[:, 0] != pairs[:, 1]).all()), f"receipt: {what} has a loop")
    require(len(changes.label_values) == len(changes.label_rows), "receipt: labels without a row")
    values = changes.feature_values
    if len(changes.feature_rows):
        check_csr("receipt's features", values, (len(changes.feature_rows), graph.num_features))
    require(
        values.dtype == np.float32 and bool(np.isfinite(values.data).all()),
        "receipt: features of another type, or not finite",
    )
    json.dumps(receipt.summary(), allow_nan=False)


def check_new_nodes(changes: Any, graph: Any) -> None:
    """New nodes have ids of the graph's kind that it does not have, and finite feature rows."""
    ids, rows = changes.new_ids, changes.new_values
    if not len(ids):
        return
    require(ids.ndim == 1 and (ids.dtype.kind == "U") == (graph.ids.dtype.kind == "U"), "receipt: ids of another kind")
    require(len({*ids.tolist(), *graph.ids.tolist()}) == len(ids) + graph.num_nodes, "receipt: an id there twice")
    check_csr("the new nodes' features", rows, (len(ids), graph.num_features))
    require(rows.dtype == np.float32 and bool(np.isfinite(rows.data).all()), "receipt: new features not finite")


def check_probabilities(probs: Any, nodes: int, classes: int) -> None:
    require(probs.shape == (nodes, classes), f"probabilities of shape {probs.shape}, expected {(nodes, classes)}")
    require(bool(np.isfinite(probs).all()), "probabilities: NaN or infinite")
    require(bool((probs >= 0).all() and (probs <= 1).all()), "probabilities: outside 0 to 1")
    require(bool((abs(probs.sum(axis=1) - 1) <= 1e-6).all()), "probabilities: do not sum to 1")


def check_record(record: Any, again: Any) -> None:
    """Fields of their types, finite numbers, and the same when written and read again."""
    cell = record.cell
    for what in ("dataset", "method", "perturbation"):
        require(type(getattr(cell, what)) is str, f"record: {what} is no text")
    require(type(cell.seed) is int, "record: the seed is no whole number")
    for what in ("perturbation_settings", "settings", "split"):
        require(isinstance(getattr(cell, what), dict), f"record: {what} of the cell are no settings")
    for scores in (record.scores, record.clean):
        if scores is not None:
            for what in ("accuracy", "entropy", "ece", "brier"):
                require(_is_number(getattr(scores, what)), f"record: {what} is no finite number")
            require(type(scores.nodes) is int and scores.nodes >= 0, "record: nodes is no count")
    for what in ("settings", "perturbation_settings", "seconds"):
        require(isinstance(getattr(record, what), dict), f"record: {what} is no object")
    require(all(_is_number(value) for value in record.seconds.values()), "record: seconds are no numbers")
    for what in ("validation", "seconds_each", "peak_mib", "peak_gpu_mib"):
        value = getattr(record, what)
        require(value is None or _is_number(value), f"record: {what} is no finite number")
    require(record.epoch is None or type(record.epoch) is int, "record: the epoch is no whole number")
    for what in ("error", "graph", "device", "gvdn", "torch", "python", "commit"):
        value = getattr(record, what)
        require(value is None or type(value) is str, f"record: {what} is no text")
    for what in ("map", "separation", "losses", "counts"):
        value = getattr(record, what)
        require(value is None or isinstance(value, dict), f"record: {what} is no object")
    require(again == record, "record: not the same when written and read again")


def check_spec(spec: Any) -> None:
    for what in ("name", "title", "about", "left_out"):
        require(type(getattr(spec, what)) is str, f"spec: {what} is no text")
    require(isinstance(spec.published, dict), "spec: published is no table")
    require(all(type(seed) is int for seed in spec.seeds), "spec: a seed is no whole number")
    require(all(type(one) is str for one in spec.datasets), "spec: a dataset is no text")
    for row in spec.rows:
        for what in ("method", "label", "group", "series", "perturbation"):
            require(type(getattr(row, what)) is str, f"spec: {what} of a row is no text")
        for what in ("perturbation_settings", "settings", "split"):
            require(isinstance(getattr(row, what), dict), f"spec: {what} of a row is no table")
        require(all(type(one) is str for one in row.datasets), "spec: a dataset of a row is no text")
    for cell, modes in spec.tasks():
        for mode in modes:
            require(bool(re.fullmatch(r"[0-9a-f]{16}", cell.key(mode))), "spec: a cell without a key")


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal may obey."""


def check_printed(text: str, *, lines: int | None = None, longest: int = 2000) -> None:
    """What a command prints holds nothing that a terminal obeys; a refusal is one short line."""
    found = CONTROL.search(text)
    require(found is None, "printed a control character, which a terminal obeys")
    if lines is not None:
        require(text.count("\n") <= lines, f"printed {text.count(chr(10))} lines, expected {lines}")
        require(len(text) < longest, f"printed {longest} characters or more")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
