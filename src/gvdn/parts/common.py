"""What the jobs on parts share: the objective of their parts, class weights, and how a job ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gvdn.methods.gvdn import GVDN
from gvdn.nn.diffusion import Rate
from gvdn.nn.samplers import SAMPLERS
from gvdn.parts import prepare
from gvdn.parts.exchange import Routes
from gvdn.parts.group import Group
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import PartsModel
from gvdn.parts.objective import PartsObjective, Totals
from gvdn.parts.site import Site
from gvdn.training.loop import Outcome

RESULT = "result.json"
"""What the first worker found, in the folder of the output; whoever started the job takes it away."""


def objective_of(
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


def class_weights_of(
    group: Group, pseudo: Mapping[int, torch.Tensor], known: Mapping[int, np.ndarray], method: GVDN, classes: int
) -> tuple[torch.Tensor | None, float]:
    """The weight of each class among the pseudo labels of all parts, and the sum of the weights of all nodes."""
    counts = [np.bincount(pseudo[n].cpu().numpy()[known[n]], minlength=classes) for n in pseudo]
    every = prepare.whole_counts(group, counts)
    weights = prepare.balanced(every, method)
    each = np.ones(classes) if weights is None else weights.double().cpu().numpy()
    return weights, float((each * every).sum())


def model_of(
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


def ended(group: Group, output: Path, found: dict[str, Any], model: PartsModel | None = None) -> dict[str, Any]:
    """When all workers have written their parts, the first writes what is shared and what was found."""
    group.wait()
    if group.rank == 0:
        if model is not None:
            model.write(output)
        (output / RESULT).write_text(json.dumps(found), encoding="utf-8")
    group.wait()
    return found
