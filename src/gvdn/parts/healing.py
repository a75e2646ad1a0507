"""Algorithm 3 on parts, whatever the way of recovering makes of the graph first."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn.choice import ALGORITHM_3
from gvdn.nn.diffusion import Rate
from gvdn.nn.samplers import SAMPLERS
from gvdn.parts import prepare
from gvdn.parts.common import class_weights_of, objective_of
from gvdn.parts.group import Group
from gvdn.parts.loop import Trainer, train
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import PartsModel, Rows
from gvdn.parts.objective import PartsObjective, Totals
from gvdn.parts.part import Part
from gvdn.parts.stored import pseudo_labels, stored_of, take_over, with_labels
from gvdn.training.loop import Callback, Outcome


@dataclass
class Healed:
    """A recovered model.

    Attributes:
        W_z: the rows of the nodes of each part of this worker; None where they are those of the model before.
        logits: of the nodes of each part of this worker.
    """

    way: str
    shared: dict[str, torch.nn.Parameter]
    rate: Rate
    outcome: Outcome
    W_z: MutableMapping[int, torch.Tensor] | None = None
    logits: dict[int, torch.Tensor] | None = None

    def take_logits(self) -> dict[int, torch.Tensor]:
        """The logits, which are not kept."""
        assert self.logits is not None, "a way that was trained has logits"
        found, self.logits = self.logits, None
        return found


@dataclass
class Healing:
    """What Algorithm 3 on parts needs, besides the graph and what is stored.

    Attributes:
        model: the one to recover, with the settings of the recovery.
        identity: what the recovery depends on; the checkpoint of another one is refused.
    """

    manifest: Manifest
    model: PartsModel
    group: Group
    labels: bool
    recompute: bool
    identity: str
    progress: Path | None
    save_every: int
    callback: Callback | None

    def run(
        self,
        stored: Mapping[int, Rows],
        way: str,
        *,
        parts: list[Part] | None = None,
        progress: Path | None = None,
        callback: Callback | None = None,
        into: MutableMapping[int, torch.Tensor] | None = None,
    ) -> Healed:
        """Train further with what is stored.

        Args:
            parts: as this way of recovering sees them; read, and seen by the guard, when left out.
            into: where the rows of W_z are put.
        """
        method, model = self.model.method, self.model
        max_norm = model.max_norm if way == ALGORITHM_3 and method.guard else None
        sites, routes = prepare.sites(self.manifest, method, self.group, max_norm=max_norm, parts=parts)
        shared = prepare.as_shared(model.shared["heads.W"], model.shared["out.W"], method)
        for site in sites:
            take_over(site, stored[site.number], shared, method)
        totals = Totals(self.manifest.nodes, 0.0, 0, 0)
        schedule = method.schedule(method.recovery_epochs)
        objective = objective_of(sites, routes, shared, method, totals, model.seed, "recover gvdn", schedule)
        objective.recompute = self.recompute
        self._prepare(objective, stored)
        trainer = Trainer(objective, shared, method.recovery_learning_rate)
        outcome = train(
            trainer,
            method.recovery_epochs,
            identity=f"{self.identity} {way}",
            callback=callback or self.callback,
            progress=progress or self.progress,
            save_every=self.save_every,
        )
        del trainer  # two moments for every row of W_z
        rows = {} if into is None else into
        for site in sites:
            rows[site.number] = site.weights.W_z.detach()
        rate = schedule[outcome.epoch]
        return Healed(way, shared, rate, outcome, rows, objective.inferred(rate, embeddings=False)[1])

    def _prepare(self, objective: PartsObjective, stored: Mapping[int, Rows]) -> None:
        """Line 1: the pseudo labels, and the embeddings to match."""
        method, sites, group = self.model.method, objective.sites, self.group
        held = {site.number: stored_of(site, stored[site.number], method) for site in sites}
        known = {site.number: find_ids(stored[site.number].known, site.part.ids) >= 0 for site in sites}
        objective.totals.known = int(prepare.whole_counts(group, [np.array([one.sum()]) for one in known.values()])[0])
        pseudo = pseudo_labels(objective, held, method)
        if self.labels:
            pseudo = {site.number: with_labels(pseudo[site.number], site, stored[site.number]) for site in sites}
        weights, objective.totals.train = class_weights_of(group, pseudo, known, method, objective.classes)
        objective.class_weights = weights
        device = method.torch_device()
        for site in sites:
            n, rows = site.number, np.flatnonzero(known[site.number])
            nodes = torch.from_numpy(rows).to(device)
            site.train, site.match = (nodes, pseudo[n][nodes]), (nodes, held[n].H_emb[nodes])
            site.near = site.neighbourhood(rows, device) if SAMPLERS[method.sampler] else None
            site.forget_links()
            site.fallback = held[n] if held[n].weight.any() else None
