"""What every worker does for the predictions and embeddings of a graph in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import torch

from gvdn.methods.base import probabilities
from gvdn.methods.gvdn.choice import ALGORITHM_3, AS_IT_IS, FITTED, JUDGING
from gvdn.parts import prepare
from gvdn.parts.common import ended, objective_of
from gvdn.parts.group import Group
from gvdn.parts.judging import Judged, judge, read_stored
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import PartsModel, Rows, read_model
from gvdn.parts.objective import Totals
from gvdn.parts.prepare import parts_of
from gvdn.parts.scores import answer_rows, asked_scores
from gvdn.parts.site import Site
from gvdn.parts.stored import stored_of, take_over, without_matrices


@dataclass
class Answer:
    """Predictions, and embeddings where asked for, as one Parquet file for each part in the folder `output`."""

    model: Path
    parts: Path
    output: Path
    embeddings: bool = False
    device: str = "cpu"

    def run(self, group: Group) -> dict[str, Any]:
        manifest, model = read_manifest(self.parts), read_model(self.model, device=self.device, checksums=False)
        found = asked(manifest, model, group, embeddings=self.embeddings)
        for site in found.sites:
            table = answer_rows(site, found.probs[site.number], found.embedded.get(site.number), model.class_names)
            pq.write_table(table, self.output / f"part-{site.number}.parquet")
        scores = asked_scores(group, found.sites, found.probs, found.stored, manifest, model.class_names)
        return ended(group, self.output, {"rows": manifest.nodes, "scores": scores, "workers": group.size})


class Asked(NamedTuple):
    """The parts of this worker, and of each H_emb, where asked for, probabilities, and what is stored of its nodes."""

    sites: list[Site]
    embedded: dict[int, torch.Tensor]
    probs: dict[int, np.ndarray]
    stored: dict[int, Rows]


def asked(manifest: Manifest, model: PartsModel, group: Group, *, embeddings: bool = False) -> Asked:
    """What a model says of the nodes of the parts of this worker."""
    model.require_parts(manifest)
    numbers, judged = parts_of(manifest, group)[0], None
    if model.judges:
        shared, baselines = read_stored(model, numbers)
        judged = judge(manifest, shared, baselines, group, guard=model.method.guard)
    stored = {number: model.rows(number) for number in numbers}
    sites, embedded, logits = inferred(manifest, model, stored, model.way, judged, group, embeddings=embeddings)
    if judged is None:
        probs = {number: probabilities(one) for number, one in logits.items()}
    else:
        probs = judged.joined(model.way, logits)
    return Asked(sites, embedded, probs, {number: without_matrices(one) for number, one in stored.items()})


def inferred(
    manifest: Manifest,
    model: PartsModel,
    stored: Mapping[int, Rows],
    way: str,
    judged: Judged | None,
    group: Group,
    *,
    embeddings: bool = False,
) -> tuple[list[Site], dict[int, torch.Tensor], dict[int, torch.Tensor]]:
    """The parts of this worker as this way of recovering sees them, H_emb, where asked for, and logits."""
    method, parts = model.method, judged.seen() if judged is not None and way in JUDGING else None
    max_norm = model.max_norm if way == ALGORITHM_3 and method.guard else None
    sites, routes = prepare.sites(manifest, method, group, max_norm=max_norm, parts=parts)
    shared = prepare.as_shared(model.shared["heads.W"], model.shared["out.W"], method)
    for site in sites:
        site.forget_links()
        take_over(site, stored[site.number], shared, method)
        if way not in (FITTED, AS_IT_IS):
            held = stored_of(site, stored[site.number], method)
            site.fallback = held if held.weight.any() else None
    totals = Totals(manifest.nodes, 0.0, 0, 0)
    objective = objective_of(sites, routes, shared, method, totals, model.seed, "ask", [])
    return sites, *objective.inferred(model.rate, embeddings=embeddings)
