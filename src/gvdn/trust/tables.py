"""A diagnosis as tables."""

import numpy as np
import pyarrow as pa

from gvdn.graph import Positions
from gvdn.trust.diagnosis import Diagnosis
from gvdn.trust.reasons import LEAST

PARTS = ("norm", "row", "gained", "lost", "neighbours", "answer")


def node_table(found: Diagnosis, order: Positions | None = None) -> pa.Table:
    """A row for every node, the most suspicious first, or for these nodes in this order.

    The columns are id, score, suspicious, why, the parts of the score, class before and now, and whether it is new.
    """
    evidence, order = found.evidence, found.ranked_nodes if order is None else order
    stored, names = evidence.changes.stored, np.array(found.class_names)
    before = names[found.baseline.answers[stored].argmax(axis=1)]
    columns = {"id": found.graph.ids[order], "score": found.scores[order], "suspicious": found.suspicious[order]}
    columns["why"] = pa.array(_whys(found, order), pa.string())
    columns |= {part: getattr(evidence, part)[order] for part in PARTS}
    columns["class_before"] = pa.array(before[order], pa.string(), mask=(stored < 0)[order])
    columns |= {"class_now": names[evidence.answers][order], "new": (stored < 0)[order]}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def link_table(found: Diagnosis, order: Positions | None = None) -> pa.Table:
    """A row for every new link, the most suspicious first, or for these rows in this order.

    The columns are source, target, score, suspicious, why, and the parts of the score.
    """
    order, evidence = found.ranked_links if order is None else order, found.evidence
    source, target = found.graph.ids[found.links[order]].T
    columns = {"source": source, "target": target, "score": found.link_scores[order]}
    columns["suspicious"] = found.suspicious_links[order]
    columns["why"] = pa.array(["; ".join(found.reasons.link(row)) for row in order.tolist()], pa.string())
    columns |= {"misfit": evidence.misfit[order], "contact": evidence.contact[order].sum(axis=1)}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _whys(found: Diagnosis, nodes: Positions) -> list[str]:
    """The reasons of each node; a score that is less than any reason has none."""
    told = found.scores[nodes] >= LEAST
    return [
        "; ".join(found.reasons.node(node)) if worth else "" for node, worth in zip(nodes.tolist(), told, strict=True)
    ]
