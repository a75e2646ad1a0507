"""A diagnosis as tables."""

import numpy as np
import pyarrow as pa

from gvdn.trust.diagnosis import Diagnosis

PARTS = ("norm", "row", "gained", "lost", "neighbours", "answer")


def node_table(found: Diagnosis) -> pa.Table:
    """A row for every node, the most suspicious first: id, score, suspicious, why, the parts of the score, class
    before and now, and whether it is new."""
    evidence, order = found.evidence, found.ranked_nodes
    stored, names = evidence.changes.stored, np.array(found.class_names)
    before = names[found.baseline.answers[stored].argmax(axis=1)]
    columns = {"id": found.graph.ids[order], "score": found.scores[order], "suspicious": found.suspicious[order]}
    columns["why"] = pa.array(["; ".join(found.reasons.node(node)) for node in order.tolist()], pa.string())
    columns |= {part: getattr(evidence, part)[order] for part in PARTS}
    columns["class_before"] = pa.array(before[order], pa.string(), mask=(stored < 0)[order])
    columns |= {"class_now": names[evidence.answers][order], "new": (stored < 0)[order]}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def link_table(found: Diagnosis) -> pa.Table:
    """A row for every new link, the most suspicious first: source, target, score, suspicious, why, and its parts."""
    order, evidence = found.ranked_links, found.evidence
    source, target = found.graph.ids[found.links[order]].T
    columns = {"source": source, "target": target, "score": found.link_scores[order]}
    columns["suspicious"] = found.suspicious_links[order]
    columns["why"] = pa.array(["; ".join(found.reasons.link(row)) for row in order.tolist()], pa.string())
    columns |= {"misfit": evidence.misfit[order], "contact": evidence.contact[order].sum(axis=1)}
    return pa.table({name: pa.array(column) for name, column in columns.items()})
