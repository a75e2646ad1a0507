"""Recovery with trust on parts: of four ways the one that brings back most of the answers that were withheld."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn.choice import (
    ALGORITHM_3,
    AS_IT_IS,
    MOST,
    SHARE,
    TRUST,
    TRUST_ALONE,
    Report,
    Tally,
    decide,
    tally,
)
from gvdn.methods.gvdn.recovery import in_turn
from gvdn.parts import prepare
from gvdn.parts.answering import seen_by
from gvdn.parts.group import exact_sums
from gvdn.parts.healing import Healed, Healing
from gvdn.parts.judging import Judged, judge, read_stored
from gvdn.parts.loop import OnDisk
from gvdn.parts.model import Rows
from gvdn.parts.stored import only
from gvdn.seeds import generator

Right = dict[str, dict[int, np.ndarray]]
"""For each way, which withheld answers of each part of this worker it brings back."""


def best(
    healing: Healing, stored: dict[int, Rows], ids: dict[int, np.ndarray], total: int, scratch: Path
) -> tuple[Healed, Report]:
    """As `GVDN.recover` with trust chooses.

    Args:
        stored: what may be used of the nodes of each part of this worker.
        ids: the nodes of these parts.
        total: how many nodes of all parts have something stored.
        scratch: a folder of this job, for the rows of W_z of a way that may be taken.
    """
    model, group, manifest = healing.model, healing.group, healing.manifest
    control = {n: _withheld(find_ids(stored[n].known, ids[n]) >= 0, total, model.seed, n) for n in stored}
    left = {n: only(one, ~np.isin(one.known, ids[n][control[n]])) for n, one in stored.items()}
    shared, baselines = read_stored(model, sorted(stored))
    clean = {n: one.answers[find_ids(one.ids, ids[n][control[n]])].argmax(axis=1) for n, one in baselines.items()}
    trusted = {n: one.only(left[n].known) for n, one in baselines.items()}
    judged = judge(manifest, shared, trusted, group, guard=model.method.guard)
    right: Right = {}

    def hear(way: str, logits: dict[int, torch.Tensor]) -> None:
        probs = judged.joined(way, logits)
        right[way] = {n: probs[n][rows].argmax(axis=1) == clean[n] for n, rows in control.items()}

    for way in (AS_IT_IS, TRUST_ALONE):
        objective = seen_by(manifest, model, left, way, judged, group)
        hear(way, objective.inferred(model.rate, embeddings=False)[1])
        del objective
    first, second = in_turn(healing.callback, model.method.recovery_epochs)
    healed = {}
    for way, called in ((ALGORITHM_3, first), (TRUST, second)):
        rows = OnDisk(scratch / f"{way}-{group.rank}")
        aside = None if healing.progress is None else healing.progress / way.replace(" ", "-")
        parts = judged.seen() if way == TRUST else None
        healed[way] = healing.run(left, way, parts=parts, progress=aside, callback=called, into=rows)
        hear(way, healed[way].take_logits())
    report = decide(_counted(judged, control, right), judged.front.model.brought_back)
    if report.chosen in healed:
        return healed[report.chosen], report
    weights = prepare.as_shared(model.shared["heads.W"], model.shared["out.W"], model.method)
    return Healed(report.chosen, weights, model.rate, model.outcome), report


def forget(scratch: Path, rank: int) -> None:
    """Delete the rows of all ways of this worker."""
    for way in (ALGORITHM_3, TRUST):
        shutil.rmtree(scratch / f"{way}-{rank}", ignore_errors=True)


def _withheld(known: np.ndarray, total: int, seed: int, number: int) -> np.ndarray:
    """The nodes of a part whose stored answers are withheld: a tenth, or its part of the most."""
    rows = np.flatnonzero(known)
    wanted = round(SHARE * len(rows)) if SHARE * total <= MOST else MOST * len(rows) // total
    return np.sort(generator(seed, "recover", "withheld", f"part {number}").permutation(rows)[:wanted])


def _counted(judged: Judged, control: dict[int, np.ndarray], right: Right) -> Tally:
    """The tally of all parts of all workers."""
    blocks, front = judged.blocks, judged.front
    withheld = np.zeros(blocks.size, dtype=bool)
    for number, rows in control.items():
        withheld[blocks.own[number].start + rows] = True
    doubted = front.doubt > 0  # asked for on all workers, or on none: it needs an exchange
    for asked in ((front.known < 0) & ~withheld, doubted, withheld):
        if blocks.total(asked):
            break
    suspicion, parts = front.judgement.suspicion, []
    for number, one in blocks.own.items():
        here, held = np.flatnonzero(asked[one]), control[number]
        counts = tally(suspicion[one][here], suspicion[one][held], {way: some[number] for way, some in right.items()})
        parts.append({name: torch.from_numpy(counted) for name, counted in counts._asdict().items()})
    return Tally(**{name: one.numpy() for name, one in exact_sums(blocks.group, parts).items()})
