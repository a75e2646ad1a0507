"""What every worker does for the predictions and embeddings of a graph in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import torch

from gvdn.methods.base import probabilities
from gvdn.methods.gvdn.choice import ALGORITHM_3, AS_IT_IS, FITTED, JUDGING
from gvdn.metrics import entropy
from gvdn.parts import prepare
from gvdn.parts.common import ended, objective_of
from gvdn.parts.group import Group
from gvdn.parts.judging import Judged, judge, read_stored
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import PartsModel, Rows, read_model
from gvdn.parts.objective import PartsObjective, Totals
from gvdn.parts.prepare import parts_of
from gvdn.parts.scores import answer_rows, asked_scores
from gvdn.parts.site import Site
from gvdn.parts.stored import stored_of, take_over, without_matrices


@dataclass
class Answer:
    """Predictions, and embeddings where asked for, as one Parquet file for each part in the folder `output`.

    With `samples`, predictions are the mean over so many draws of the noise, and their mutual information is told.
    """

    model: Path
    parts: Path
    output: Path
    embeddings: bool = False
    samples: int = 0
    device: str = "cpu"

    def run(self, group: Group) -> dict[str, Any]:
        manifest, model = read_manifest(self.parts), read_model(self.model, device=self.device, checksums=False)
        found = asked(manifest, model, group, embeddings=self.embeddings, samples=self.samples)
        for site in found.sites:
            n = site.number
            mutual = found.mutual[n] if self.samples else None
            table = answer_rows(site, found.probs[n], found.embedded.get(n), model.class_names, mutual)
            pq.write_table(table, self.output / f"part-{site.number}.parquet")
        scores = asked_scores(group, found.sites, found.probs, found.stored, manifest, model.class_names)
        return ended(group, self.output, {"rows": manifest.nodes, "scores": scores, "workers": group.size})


class Asked(NamedTuple):
    """The parts of this worker, and of each: H_emb, where asked for, probabilities, the mutual information of draws,
    where there are any, and what is stored of its nodes."""

    sites: list[Site]
    embedded: dict[int, torch.Tensor]
    probs: dict[int, np.ndarray]
    mutual: dict[int, np.ndarray]
    stored: dict[int, Rows]


def asked(manifest: Manifest, model: PartsModel, group: Group, *, embeddings: bool = False, samples: int = 0) -> Asked:
    """What a model says of the nodes of the parts of this worker.

    Args:
        samples: draws of the noise; the setting of the model when left out.
    """
    model.require_parts(manifest)
    numbers, judged = parts_of(manifest, group)[0], None
    if model.judges:
        shared, baselines = read_stored(model, numbers)
        judged = judge(manifest, shared, baselines, group, guard=model.method.guard)
    stored = {number: model.rows(number) for number in numbers}
    objective = seen_by(manifest, model, stored, model.way, judged, group)
    stored = {number: without_matrices(one) for number, one in stored.items()}

    def joined(logits: dict[int, torch.Tensor]) -> dict[int, np.ndarray]:
        if judged is None:
            return {number: probabilities(one) for number, one in logits.items()}
        return judged.joined(model.way, logits)

    draws = samples or model.method.samples
    embedded: dict[int, torch.Tensor] = {}
    mutual: dict[int, np.ndarray] = {}
    if embeddings or not draws:
        embedded, logits = objective.inferred(model.rate, embeddings=embeddings)
        probs = joined(logits)
    if draws:
        every = (joined(objective.inferred(model.rate, embeddings=False, draw=draw)[1]) for draw in range(draws))
        probs, mutual = _mean(every, draws)
    return Asked(objective.sites, embedded, probs, mutual, stored)


def _mean(every: Iterable[dict[int, np.ndarray]], draws: int) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """The mean of the draws of each part and their mutual information, as `split_entropy`; one draw is held."""
    probs: dict[int, np.ndarray] = {}
    expected: dict[int, np.ndarray] = {}
    for drawn in every:
        for number, one in drawn.items():
            probs[number] = probs.get(number, 0) + one / draws
            expected[number] = expected.get(number, 0) + entropy(one) / draws
    return probs, {number: np.maximum(entropy(probs[number]) - expected[number], 0) for number in probs}


def seen_by(
    manifest: Manifest, model: PartsModel, stored: Mapping[int, Rows], way: str, judged: Judged | None, group: Group
) -> PartsObjective:
    """The network on the parts of this worker as this way of recovering sees them."""
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
    return objective_of(sites, routes, shared, method, totals, model.seed, "ask", [])
