"""What every worker does in a recovery on parts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.choice import ALGORITHM_3
from gvdn.parts import prepare
from gvdn.parts.answering import asked
from gvdn.parts.baseline import TRUST
from gvdn.parts.best import best, forget
from gvdn.parts.common import ended, model_of
from gvdn.parts.group import Group
from gvdn.parts.healing import Healed, Healing
from gvdn.parts.judging import read_stored, require_trust
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import PartsModel, Rows, read_model, write_rows
from gvdn.parts.part import read_ids
from gvdn.parts.scores import asked_scores
from gvdn.parts.stored import limited, without_matrices
from gvdn.training.loop import Callback

WAYS = "ways"
"""A folder for what may be taken, in that of the output while the job runs."""


@dataclass
class Recover:
    """Recover on the parts of a perturbed graph, which are like those of the training.

    With the setting `trust` as `GVDN.recover` does it: links and rows are judged, and of the ways of recovering the one
    is taken that brings back most of some answers that were withheld. Otherwise Algorithm 3 alone.

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
        method = GVDN(**{**old.method.get_params(), **self.settings, "device": self.device})
        prepare.require_settings(method)
        if method.trust:
            require_trust(old)
        numbers = prepare.parts_of(manifest, group)[0]
        stored = {number: limited(old.rows(number), self.known) for number in numbers}
        ids = {number: read_ids(manifest, number) for number in numbers}
        there = {number: find_ids(stored[number].known, ids[number]) >= 0 for number in numbers}
        total = int(prepare.whole_counts(group, [np.array([one.sum()]) for one in there.values()])[0])
        if not total:
            raise InvalidInput(f"no node of {manifest.name} has a stored embedding to recover from; give its parts")
        healing = Healing(
            manifest, replace(old, method=method), group, labels=self.labels, recompute=self.recompute,
            identity=f"recover {method} {manifest.identity} {old.identity} {old.seed} {self.known} {self.labels}",
            progress=self.progress, save_every=self.save_every, callback=self.callback,
        )  # fmt: skip
        if method.trust:
            chosen, report = best(healing, stored, ids, total, self.output / WAYS)
        else:
            chosen, report = healing.run(stored, ALGORITHM_3), None
        sent = group.sent
        for number in numbers:
            write_rows(_with_weights(stored[number], ids[number], number, chosen), self.output, number)
        forget(self.output / WAYS, group.rank)
        made = model_of(
            manifest, method, old.seed, chosen.outcome, chosen.rate, old.max_norm, chosen.shared, old.identity,
            recovered=True, like=old,
        )  # fmt: skip
        made = replace(made, folder=self.output, way=chosen.way, report=report, trusting=old.trusting)
        if old.trusting:
            _write_trust(old, stored, self.output, group)
        group.wait()
        if group.rank == 0:
            shutil.rmtree(self.output / WAYS, ignore_errors=True)
        scores = _scores(made, manifest, old, group)
        found: dict[str, Any] = {"nodes_with_stored_embedding": total / manifest.nodes, "test": scores}
        found |= {"way": chosen.way, "report": None if report is None else report.as_json() | {"words": str(report)}}
        found |= {"workers": group.size, "bytes_sent": sent, "losses": chosen.outcome.history[-1]}
        return ended(group, self.output, found, made)


def _with_weights(stored: Rows, ids: np.ndarray, number: int, chosen: Healed) -> Rows:
    """What is stored of a part, with the rows of W_z of this graph, and behind them those of absent nodes."""
    if chosen.W_z is None:
        return stored
    absent = find_ids(ids, stored.ids) < 0
    W_z = np.concatenate([chosen.W_z[number].cpu().numpy(), stored.W_z[absent]])
    return stored._replace(ids=np.concatenate([ids, stored.ids[absent]]), W_z=W_z)


def _write_trust(old: PartsModel, stored: Mapping[int, Rows], output: Path, group: Group) -> None:
    """The baselines of the nodes that may be used, and the trust model."""
    for number, one in read_stored(old, sorted(stored))[1].items():
        one.only(stored[number].known).write(output, number)
    if group.rank == 0:
        shutil.copyfile(old.folder / TRUST, output / TRUST)
    group.wait()


def _scores(made: PartsModel, manifest: Manifest, old: PartsModel, group: Group) -> dict[str, Any] | None:
    """The scores of the new model; labels that the model was trained or chosen on are left out, known or not."""
    found = asked(manifest, made, group)
    every = {number: without_matrices(old.rows(number)) for number in found.probs}
    return asked_scores(group, found.sites, found.probs, every, manifest, old.class_names)
