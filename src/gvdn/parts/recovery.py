"""What every worker does in a recovery on parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gvdn.errors import InvalidInput
from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn import GVDN
from gvdn.nn.samplers import SAMPLERS
from gvdn.parts import prepare
from gvdn.parts.common import class_weights_of, ended, model_of, objective_of
from gvdn.parts.group import Group
from gvdn.parts.loop import Trainer, train
from gvdn.parts.manifest import read_manifest
from gvdn.parts.model import read_model, write_rows
from gvdn.parts.objective import Totals
from gvdn.parts.scores import asked_scores
from gvdn.parts.stored import limited, pseudo_labels, stored_of, take_over, with_labels
from gvdn.training.loop import Callback


@dataclass
class Recover:
    """Algorithm 3 on the parts of a perturbed graph, which are like those of the training.

    Attributes:
        known: a table with a column id: only what was stored of these nodes is used.
        labels: whether the training labels may be used too.
    """

    model: Path
    parts: Path
    output: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    known: Path | None = None
    labels: bool = False
    device: str = "cpu"
    progress: Path | None = None
    save_every: int = 20
    recompute: bool = False
    callback: Callback | None = None

    def run(self, group: Group) -> dict[str, Any]:
        manifest, old = read_manifest(self.parts), read_model(self.model, device=self.device, checksums=False)
        old.require_parts(manifest)
        method = GVDN(**{**old.method.get_params(), **prepare.without_trust(self.settings), "device": self.device})
        prepare.require_settings(method)
        max_norm = old.max_norm if method.guard else None
        sites, routes = prepare.sites(manifest, method, group, max_norm=max_norm)
        device = method.torch_device()
        shared = prepare.as_shared(old.shared["heads.W"], old.shared["out.W"], method)
        every = {site.number: old.rows(site.number) for site in sites}
        stored = {number: limited(rows, self.known) for number, rows in every.items()}
        held = {site.number: stored_of(site, stored[site.number], method) for site in sites}
        for site in sites:
            take_over(site, stored[site.number], shared, method)
        known = {n: find_ids(stored[n].known, site.part.ids) >= 0 for n, site in ((s.number, s) for s in sites)}
        total = int(prepare.whole_counts(group, [np.array([known[site.number].sum()]) for site in sites])[0])
        if not total:
            raise InvalidInput(f"no node of {manifest.name} has a stored embedding to recover from; give its parts")
        totals = Totals(manifest.nodes, float(total), total, 0)
        schedule = method.schedule(method.recovery_epochs)
        objective = objective_of(sites, routes, shared, method, totals, old.seed, "recover gvdn", schedule)
        objective.recompute = self.recompute
        pseudo = pseudo_labels(objective, held, method)  # line 1
        if self.labels:
            pseudo = {site.number: with_labels(pseudo[site.number], site, stored[site.number]) for site in sites}
        objective.class_weights, totals.train = class_weights_of(group, pseudo, known, method, objective.classes)
        for site in sites:
            n, rows = site.number, np.flatnonzero(known[site.number])
            nodes = torch.from_numpy(rows).to(device)
            site.train, site.match = (nodes, pseudo[n][nodes]), (nodes, held[n].H_emb[nodes])
            site.near = site.neighbourhood(rows, device) if SAMPLERS[method.sampler] else None
            site.forget_links()
            site.fallback = held[n] if held[n].weight.any() else None
        trainer = Trainer(objective, shared, method.recovery_learning_rate)
        outcome = train(
            trainer,
            method.recovery_epochs,
            identity=f"recover {method} {manifest.identity} {old.identity} {old.seed} {self.known} {self.labels}",
            callback=self.callback,
            progress=self.progress,
            save_every=self.save_every,
        )
        del trainer
        sent = group.sent
        for site in sites:
            before = stored[site.number]
            absent = find_ids(site.part.ids, before.ids) < 0
            ids = np.concatenate([site.part.ids, before.ids[absent]])
            W_z = np.concatenate([site.weights.W_z.detach().cpu().numpy(), before.W_z[absent]])
            write_rows(before._replace(ids=ids, W_z=W_z), self.output, site.number)
        rate = schedule[outcome.epoch]
        made = model_of(
            manifest, method, old.seed, outcome, rate, old.max_norm, shared, old.identity, recovered=True, like=old
        )
        logits = objective.inferred(rate)[1]
        scores = asked_scores(group, sites, logits, every, manifest, old.class_names)
        found = {"nodes_with_stored_embedding": total / manifest.nodes, "test": scores}
        found |= {"workers": group.size, "bytes_sent": sent, "losses": outcome.history[-1]}
        return ended(group, self.output, found, made)
