"""What is told of the answers on parts: tables of them, and scores that are counted over all parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from gvdn.graph.graph import find_ids
from gvdn.metrics import entropy
from gvdn.parts import prepare
from gvdn.parts.group import Group
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import TRAIN, VAL, Rows
from gvdn.parts.site import Site


def answer_rows(
    site: Site,
    probs: np.ndarray,
    H_emb: torch.Tensor | None,
    class_names: tuple[str, ...],
    mutual: np.ndarray | None = None,
) -> pa.Table:
    """The columns of `answer_table`, with mutual information and the columns of the embedding where there are any."""
    names = np.array(class_names)
    columns: dict[str, Any] = {"id": pa.array(site.part.ids), "class": pa.array(names[probs.argmax(axis=1)])}
    columns |= {f"p_{name}": probs[:, number] for number, name in enumerate(class_names)}
    columns["entropy"] = entropy(probs) / np.log(len(names))
    if mutual is not None:
        columns["mutual_information"] = mutual / np.log(len(names))
    if H_emb is not None:
        columns |= {f"h{number}": column for number, column in enumerate(H_emb.cpu().numpy().T)}
    return pa.table(columns)


def asked_scores(
    group: Group,
    sites: list[Site],
    probs: Mapping[int, np.ndarray],
    stored: Mapping[int, Rows],
    manifest: Manifest,
    class_names: tuple[str, ...],
) -> dict[str, Any] | None:
    """The scores of labelled nodes that the model was neither trained nor chosen on; classes go by name."""
    numbers = {name: number for number, name in enumerate(class_names)}
    table = np.array([*(numbers.get(name, -1) for name in manifest.class_names), -1], dtype=np.int64)
    labels = {site.number: table[site.part.labels] for site in sites}
    chosen, named = {}, {}
    for site in sites:
        n, one = site.number, stored[site.number]
        rows = find_ids(one.known, site.part.ids)
        given = (rows >= 0) & np.isin(one.roles[rows] if len(one.roles) else np.zeros(len(rows)), (TRAIN, VAL))
        chosen[n], named[n] = (labels[n] >= 0) & ~given, probs[n].argmax(axis=1)
    return scores_of(group, sites, named, chosen, labels, class_names)


def scores_of(
    group: Group,
    sites: list[Site],
    named: Mapping[int, np.ndarray],
    chosen: Mapping[int, np.ndarray],
    labels: Mapping[int, np.ndarray],
    class_names: tuple[str, ...],
) -> dict[str, Any] | None:
    """Accuracy, macro-F1, and recall and precision of each class, of the chosen nodes of all parts."""
    K = len(class_names)
    counts = []
    for n in (site.number for site in sites):
        cells = labels[n][chosen[n]] * K + named[n][chosen[n]]
        counts.append(np.bincount(cells, minlength=K * K))
    table = prepare.whole_counts(group, counts).reshape(K, K)
    if not table.sum():
        return None
    hits, true, said = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    either = (true + said) > 0
    classes = [
        {
            "name": name,
            "count": int(true[k]),
            "predicted": int(said[k]),
            "recall": None if not true[k] else float(hits[k] / true[k]),
            "precision": None if not said[k] else float(hits[k] / said[k]),
        }
        for k, name in enumerate(class_names)
    ]
    return {
        "accuracy": float(hits.sum() / table.sum()),
        "macro_f1": float((2 * hits[either] / (true + said)[either]).mean()),
        "nodes": int(table.sum()),
        "classes": classes,
    }
