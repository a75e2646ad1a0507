"""What every worker does in a diagnosis of a graph in parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gvdn.parts.answering import asked
from gvdn.parts.common import ended
from gvdn.parts.group import Group
from gvdn.parts.judging import Judged, judge, read_stored, require_trust
from gvdn.parts.manifest import Manifest, read_manifest
from gvdn.parts.model import read_model
from gvdn.parts.part import read_ids
from gvdn.parts.prepare import whole_counts
from gvdn.trust.calibration import RATE, beyond
from gvdn.trust.diagnosis import COUNTS, Diagnosis, advise
from gvdn.trust.evidence import weigh
from gvdn.trust.tables import link_table, node_table

MOST = 100
"""Nodes and links of each part that are told in the summary, at most."""


@dataclass
class Diagnose:
    """Compare the parts of a later graph with what was stored of the clean one.

    Tables of all nodes and of all new links are written into the folder `output`, a Parquet file for each part.
    """

    model: Path
    parts: Path
    output: Path
    device: str = "cpu"

    def run(self, group: Group) -> dict[str, Any]:
        manifest, model = read_manifest(self.parts), read_model(self.model, device=self.device, checksums=False)
        require_trust(model)
        probs = asked(manifest, model, group).probs  # S X and W_z are given back: the judgement does not need them
        shared, stored = read_stored(model, sorted(probs))
        vanished = _vanished(manifest, stored)
        judged = judge(manifest, shared, stored, group)
        blocks = judged.blocks
        evidence = weigh(judged.front, judged.graph, blocks.spread(probs))
        evidence = replace(evidence, neighbours=blocks.told(evidence.neighbours))
        found = Diagnosis(judged.graph, judged.front.baseline, evidence, model.class_names)
        for folder in ("nodes", "links"):
            (self.output / folder).mkdir(exist_ok=True)
        for number, one in blocks.own.items():
            self._write(found, judged, number, np.arange(one.start, one.stop), vanished[number])
        total, _ = blocks.sum(np.maximum(found.scores - found.baseline.calibration.node, 0), np.arange(blocks.size))
        summary = _verdict(judged, found, total, manifest)
        group.wait()
        if group.rank == 0:
            summary |= _ranked(self.output, manifest.parts)
            (self.output / "diagnosis.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        return ended(group, self.output, summary | {"workers": group.size, "bytes_sent": group.sent})

    def _write(self, found: Diagnosis, judged: Judged, number: int, own: np.ndarray, vanished: list[Any]) -> None:
        """The tables of one part, and its share of the summary."""
        ranked = own[np.argsort(-found.scores[own], kind="stable")]
        first = found.links[:, 0]
        rows = np.flatnonzero(judged.counted & (first >= own[0]) & (first <= own[-1])) if len(own) else own
        links = rows[np.argsort(-found.link_scores[rows], kind="stable")]
        pq.write_table(node_table(found, ranked), self.output / "nodes" / f"part-{number}.parquet")
        pq.write_table(link_table(found, links), self.output / "links" / f"part-{number}.parquet")
        told = found.ranked(ranked[found.suspicious[ranked]][:MOST], links[found.suspicious_links[links]][:MOST])
        new = own[judged.changes.stored[own] < 0][:MOST]
        told |= {"new_ids": found.graph.ids[new].tolist(), "vanished_ids": vanished[:MOST]}
        (self.output / f"top-{number}.json").write_text(json.dumps(told), encoding="utf-8")


def _vanished(manifest: Manifest, stored: dict[int, Any]) -> dict[int, list[Any]]:
    """Some of the stored nodes of each part that the graph has no more."""
    found = {}
    for number, one in stored.items():
        found[number] = one.ids[one.kept & ~np.isin(one.ids, read_ids(manifest, number))][:MOST].tolist()
    return found


def _verdict(judged: Judged, found: Diagnosis, total: float, manifest: Manifest) -> dict[str, Any]:
    """The verdict and all counts, of all workers together."""
    own, changes, evidence = judged.blocks.is_own, judged.changes, found.evidence
    flags = (
        changes.stored < 0, evidence.row_changed, found.reasons.answer_changed, found.suspicious,
    )  # fmt: skip
    sums = [int(one[own].sum()) for one in flags] + [int((found.suspicious_links & judged.counted).sum())]
    new, changed, answers, nodes, links = whole_counts(judged.blocks.group, [np.array(sums)]).tolist()
    numbers = (
        manifest.nodes, new, changes.gone, manifest.edges, changes.number_new, changes.number_lost, changed, answers,
        nodes, links,
    )  # fmt: skip
    counts = dict(zip(COUNTS, numbers, strict=True))
    calibration, excess = found.baseline.calibration, beyond(total, changes)
    advice, because = advise(counts, calibration, excess, found.baseline.number)
    return {
        "graph": manifest.name,
        "perturbed": calibration.exceeded(excess),
        "p_value": calibration.p_value(excess),
        "false_alarm_rate": RATE,
        "advice": str(advice),
        "because": because,
        **counts,
    }


def _ranked(output: Path, parts: int) -> dict[str, Any]:
    """The most suspicious nodes and links of all parts, and some new and vanished nodes."""
    told = []
    for number in range(parts):
        path = output / f"top-{number}.json"
        told.append(json.loads(path.read_text(encoding="utf-8")))
        path.unlink()
    found = {name: [one for part in told for one in part[name]] for name in told[0]}
    for name in ("nodes_ranked", "links_ranked"):
        found[name].sort(key=lambda one: -one["score"])
    return {name: some[:MOST] for name, some in found.items()}
