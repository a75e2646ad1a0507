"""What every worker does in a training on parts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gvdn.methods.gvdn import GVDN
from gvdn.nn.samplers import SAMPLERS
from gvdn.parts import prepare
from gvdn.parts.common import ended, model_of, objective_of
from gvdn.parts.group import Group
from gvdn.parts.learning import learn
from gvdn.parts.loop import OnDisk, Trainer, train
from gvdn.parts.manifest import read_manifest
from gvdn.parts.model import TEST, TRAIN, VAL, Rows, write_rows
from gvdn.parts.objective import Totals
from gvdn.parts.scores import scores_of
from gvdn.training.loop import Callback


@dataclass
class Fit:
    """Train GVDN on the parts of a clean graph; the model is written into the folder `output`.

    With the setting `trust`, what a diagnosis needs is learned and stored too.

    Attributes:
        settings: of GVDN.
        progress: a folder for checkpoints, which a stopped training goes on from.
        recompute: see `PartsObjective`.
    """

    parts: Path
    output: Path
    settings: Mapping[str, Any]
    seed: int
    shares: prepare.Shares = field(default_factory=prepare.Shares)
    device: str = "cpu"
    progress: Path | None = None
    save_every: int = 20
    recompute: bool = False
    callback: Callback | None = None

    def run(self, group: Group) -> dict[str, Any]:
        manifest, method = read_manifest(self.parts), GVDN(**self.settings, device=self.device)
        prepare.require_settings(method)
        sites, routes = prepare.sites(manifest, method, group)
        roles = {site.number: prepare.roles_of(site.part, self.shares, self.seed) for site in sites}
        classes = len(manifest.class_names)
        counts = prepare.whole_counts(
            group, [prepare.label_counts(one.part.labels, roles[one.number], classes) for one in sites]
        )
        prepare.require_trainable(counts, manifest)
        class_weights = prepare.balanced(counts[0], method)
        shared = prepare.shared_weights(method, manifest.features, classes, self.seed)
        for site in sites:
            site.network = prepare.network_of(site, shared, method, prepare.drawn_rows(site, method, self.seed))
            site.train, site.val = (prepare.labelled(site, roles[site.number] == role, method) for role in (TRAIN, VAL))
            nodes = np.flatnonzero(roles[site.number] == TRAIN)
            site.near = site.neighbourhood(nodes, method.torch_device()) if SAMPLERS[method.sampler] else None
            site.forget_links()
        each = np.ones(classes) if class_weights is None else class_weights.double().cpu().numpy()
        weight = float((each * counts[0]).sum())
        totals = Totals(manifest.nodes, weight, 0, int(counts[1].sum()))
        objective = objective_of(
            sites, routes, shared, method, totals, self.seed, f"fit {method.purpose()}", method.schedule(method.epochs)
        )
        objective.dropout, objective.select, objective.class_weights = method.dropout, method.select, class_weights
        objective.recompute = self.recompute
        trainer = Trainer(objective, shared, method.learning_rate, method.weight_decay)
        aside = self.output / f"best-{group.rank}"
        if self.recompute:
            trainer.best_rows = OnDisk(aside)
        identity = f"fit {method} {manifest.identity} {self.seed} {self.shares}"
        outcome = train(
            trainer,
            method.epochs,
            identity=identity,
            callback=self.callback,
            progress=self.progress,
            save_every=self.save_every,
        )
        shutil.rmtree(aside, ignore_errors=True)
        del trainer  # two moments for every row of W_z
        rate = objective.schedule[outcome.epoch]
        norms = torch.tensor([max((float(site.norms.max(initial=0)) for site in sites), default=0.0)])
        max_norm = float(group.largest(norms.double()))
        sent = group.sent
        embedded, logits = objective.inferred(rate)
        for site in sites:
            n, ids = site.number, site.part.ids
            H_emb, out = (one[n].cpu().numpy() for one in (embedded, logits))
            W_z = site.weights.W_z.detach().cpu().numpy()
            write_rows(
                Rows(ids, W_z, ids, H_emb, out, site.mass, site.norms, roles[n], site.part.labels), self.output, n
            )
        model = model_of(
            manifest, method, self.seed, outcome, rate, max_norm, shared, manifest.identity, recovered=False
        )
        if method.trust:
            learn(replace(model, folder=self.output), manifest, [site.number for site in sites], group)
        named = {site.number: logits[site.number].argmax(dim=1).cpu().numpy() for site in sites}
        tested = {site.number: roles[site.number] == TEST for site in sites}
        scores = scores_of(group, sites, named, tested, {s.number: s.part.labels for s in sites}, manifest.class_names)
        found = {"epoch": outcome.epoch + 1, "validation_score": outcome.score, "test": scores}
        found |= {"workers": group.size, "bytes_sent": sent, "losses": outcome.history[-1]}
        return ended(group, self.output, found, model)
