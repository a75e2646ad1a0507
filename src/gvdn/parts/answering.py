"""What every worker does for the predictions and embeddings of a graph in parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import torch

from gvdn.parts import prepare
from gvdn.parts.common import ended, objective_of
from gvdn.parts.group import Group
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import PartsModel, Rows, read_model
from gvdn.parts.objective import Totals
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
            table = answer_rows(site, found.logits[site.number], found.embedded.get(site.number), model.class_names)
            pq.write_table(table, self.output / f"part-{site.number}.parquet")
        scores = asked_scores(group, found.sites, found.logits, found.stored, manifest, model.class_names)
        return ended(group, self.output, {"rows": manifest.nodes, "scores": scores, "workers": group.size})


class Asked(NamedTuple):
    """The parts of this worker, and of each H_emb, where asked for, logits, and what is stored of its nodes."""

    sites: list[Site]
    embedded: dict[int, torch.Tensor]
    logits: dict[int, torch.Tensor]
    stored: dict[int, Rows]


def asked(manifest: Manifest, model: PartsModel, group: Group, *, embeddings: bool = False) -> Asked:
    """What a model says of the nodes of the parts of this worker."""
    model.require_parts(manifest)
    method = model.method
    max_norm = model.max_norm if model.recovered and method.guard else None
    sites, routes = prepare.sites(manifest, method, group, max_norm=max_norm)
    shared = prepare.as_shared(model.shared["heads.W"], model.shared["out.W"], method)
    stored = {site.number: model.rows(site.number) for site in sites}
    for site in sites:
        site.forget_links()
        take_over(site, stored[site.number], shared, method)
        if model.recovered:
            held = stored_of(site, stored[site.number], method)
            site.fallback = held if held.weight.any() else None
        stored[site.number] = without_matrices(stored[site.number])
    objective = objective_of(sites, routes, shared, method, Totals(manifest.nodes, 0.0, 0, 0), model.seed, "ask", [])
    embedded, logits = objective.inferred(model.rate, embeddings=embeddings)
    return Asked(sites, embedded, logits, stored)
