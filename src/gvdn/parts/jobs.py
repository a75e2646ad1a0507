"""What every worker does in a training, a recovery and a prediction on parts; all of them run the same job."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from gvdn.errors import InvalidInput
from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn import GVDN
from gvdn.nn.diffusion import Rate
from gvdn.nn.samplers import SAMPLERS
from gvdn.parts import prepare
from gvdn.parts.exchange import Routes
from gvdn.parts.group import Group
from gvdn.parts.loop import OnDisk, Trainer, train
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import TEST, TRAIN, VAL, PartsModel, Rows, read_model, write_rows
from gvdn.parts.objective import PartsObjective, Totals
from gvdn.parts.scores import answer_rows, asked_scores, scores_of
from gvdn.parts.site import Site
from gvdn.parts.stored import limited, pseudo_labels, stored_of, take_over, with_labels, without_matrices
from gvdn.training.loop import Callback, Outcome

RESULT = "result.json"
"""What the first worker found, in the folder of the output; whoever started the job takes it away."""


@dataclass
class Fit:
    """Train GVDN on the parts of a clean graph; the model is written into the folder `output`.

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
        manifest, method = read_manifest(self.parts), GVDN(**prepare.without_trust(self.settings), device=self.device)
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
        objective = _objective(
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
        model = _model(manifest, method, self.seed, outcome, rate, max_norm, shared, manifest.identity, recovered=False)
        named = {site.number: logits[site.number].argmax(dim=1).cpu().numpy() for site in sites}
        tested = {site.number: roles[site.number] == TEST for site in sites}
        scores = scores_of(group, sites, named, tested, {s.number: s.part.labels for s in sites}, manifest.class_names)
        found = {"epoch": outcome.epoch + 1, "validation_score": outcome.score, "test": scores}
        found |= {"workers": group.size, "bytes_sent": sent, "losses": outcome.history[-1]}
        return _ended(group, self.output, found, model)


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
        objective = _objective(sites, routes, shared, method, totals, old.seed, "recover gvdn", schedule)
        objective.recompute = self.recompute
        pseudo = pseudo_labels(objective, held, method)  # line 1
        if self.labels:
            pseudo = {site.number: with_labels(pseudo[site.number], site, stored[site.number]) for site in sites}
        objective.class_weights, totals.train = _balanced(group, pseudo, known, method, objective.classes)
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
        made = _model(
            manifest, method, old.seed, outcome, rate, old.max_norm, shared, old.identity, recovered=True, like=old
        )
        logits = objective.inferred(rate)[1]
        scores = asked_scores(group, sites, logits, every, manifest, old.class_names)
        found = {"nodes_with_stored_embedding": total / manifest.nodes, "test": scores}
        found |= {"workers": group.size, "bytes_sent": sent, "losses": outcome.history[-1]}
        return _ended(group, self.output, found, made)


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
        objective = _objective(sites, routes, shared, method, Totals(manifest.nodes, 0.0, 0, 0), model.seed, "ask", [])
        embedded, logits = objective.inferred(model.rate, embeddings=self.embeddings)
        for site in sites:
            table = answer_rows(site, logits[site.number], embedded.get(site.number), model.class_names)
            pq.write_table(table, self.output / f"part-{site.number}.parquet")
        scores = asked_scores(group, sites, logits, stored, manifest, model.class_names)
        return _ended(group, self.output, {"rows": manifest.nodes, "scores": scores, "workers": group.size})


Job = Fit | Recover | Answer


def _objective(
    sites: list[Site],
    routes: Routes,
    shared: Mapping[str, torch.nn.Parameter],
    method: GVDN,
    totals: Totals,
    seed: int,
    purpose: str,
    schedule: list[Rate],
) -> PartsObjective:
    return PartsObjective(
        sites=sites,
        routes=routes,
        shared=dict(shared),
        schedule=schedule,
        weights={"ce": method.lambda_ce, "kl": method.lambda_kl, "df": method.lambda_df, "nm": method.lambda_nm},
        totals=totals,
        sampler=SAMPLERS[method.sampler],
        classes=shared["out.W"].shape[1],
        seed=seed,
        purpose=purpose,
        device=method.torch_device(),
        hops=2 if method.aggregator == "sgc" else 1,
    )


def _balanced(
    group: Group, pseudo: Mapping[int, torch.Tensor], known: Mapping[int, np.ndarray], method: GVDN, classes: int
) -> tuple[torch.Tensor | None, float]:
    """The weight of each class among the pseudo labels of all parts, and the sum of the weights of all nodes."""
    counts = [np.bincount(pseudo[n].cpu().numpy()[known[n]], minlength=classes) for n in pseudo]
    every = prepare.whole_counts(group, counts)
    weights = prepare.balanced(every, method)
    each = np.ones(classes) if weights is None else weights.double().cpu().numpy()
    return weights, float((each * every).sum())


def _model(
    manifest: Manifest,
    method: GVDN,
    seed: int,
    outcome: Outcome,
    rate: Rate,
    max_norm: float,
    shared: Mapping[str, torch.nn.Parameter],
    identity: str,
    *,
    recovered: bool,
    like: PartsModel | None = None,
) -> PartsModel:
    return PartsModel(
        folder=manifest.folder,
        method=method,
        identity=identity,
        class_names=manifest.class_names if like is None else like.class_names,
        features=manifest.features,
        feature_names=manifest.feature_names,
        columns=manifest.columns if like is None else like.columns,
        seed=seed,
        outcome=outcome,
        rate=rate,
        max_norm=max_norm,
        recovered=recovered,
        parts=manifest.parts,
        shared={name: one.detach().cpu().numpy() for name, one in shared.items()},
    )


def _ended(group: Group, output: Path, found: dict[str, Any], model: PartsModel | None = None) -> dict[str, Any]:
    """When all workers have written their parts, the first writes what is shared and what was found."""
    group.wait()
    if group.rank == 0:
        if model is not None:
            model.write(output)
        (output / RESULT).write_text(json.dumps(found), encoding="utf-8")
    group.wait()
    return found
