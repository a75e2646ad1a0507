"""The thresholds of a diagnosis, which natural churn of the clean graph exceeds with a stated rate."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph
from gvdn.seeds import generator
from gvdn.trust.baseline import NEVER, Answers, Baseline, Calibration
from gvdn.trust.changes import Changes
from gvdn.trust.churn import CHURN, churned
from gvdn.trust.evidence import Evidence, weigh
from gvdn.trust.front import front_of
from gvdn.trust.model import TrustModel
from gvdn.trust.sample import sample_of
from gvdn.trust.workers import each, one_at_a_time

DRAWS = 59
"""Churned graphs that the thresholds are calibrated on: with 95 % confidence, at most 5 % of further ones exceed the
largest of 59 (Wilks, Annals of Mathematical Statistics 1941)."""
RATE = 0.05
"""False alarms under natural churn, as a share: at most so many are stated."""
MARGIN = 0.8
"""The thresholds of nodes and links are calibrated to this part of the rate, for their own error."""


def calibrate(trust: TrustModel, baseline: Baseline, graph: Graph, answers: Answers, *, seed: int) -> Calibration:
    """The thresholds that natural churn of the clean graph exceeds with the stated rate.

    A large graph is represented by its sample, where the excess varies more from draw to draw than in the whole graph,
    so that it is exceeded less often.
    """
    answers = one_at_a_time(answers)
    graph, baseline = _sampled(baseline, graph, answers, seed)
    classes = baseline.answers.argmax(axis=1)

    def drawn(number: int) -> Evidence:
        later = churned(graph, classes, generator(seed, "trust", "churn", str(number)))
        front = front_of(trust, baseline, later, row_digests=baseline.digests)
        return weigh(front, later, answers(later))

    found = each(drawn, range(DRAWS))
    touched = [one.nodes[(one.changes.gained > 0) | (one.changes.lost > 0)] for one in found]
    node = _quantile(np.concatenate(touched))
    link = _quantile(np.concatenate([one.links for one in found]))
    return Calibration(node, link, np.array([excess(one, node) for one in found]))


def _sampled(baseline: Baseline, graph: Graph, answers: Answers, seed: int) -> tuple[Graph, Baseline]:
    """The sample of a clean graph, and what would be stored of it."""
    sample = sample_of(graph, baseline.answers.argmax(axis=1), seed=seed)
    if sample.graph is graph:
        return graph, baseline
    small, rows = sample.graph, sample.rows
    return small, replace(
        baseline, ids=small.ids, edges=small.edges, answers=answers(small).astype(np.float32), own=baseline.own[rows],
        digests=baseline.digests[rows],
    )  # fmt: skip


def excess(evidence: Evidence, threshold: float) -> float:
    """The evidence of all nodes beyond the threshold, per changed link; at least as many links as churn changes."""
    return beyond(float(np.maximum(evidence.nodes - threshold, 0).sum()), evidence.changes)


def beyond(evidence: float, changes: Changes) -> float:
    """The same, given the sum over all nodes."""
    changed = max(changes.number_new + changes.number_lost, 2 * CHURN * changes.old, 1)
    return evidence / changed


def _quantile(scores: Float[np.ndarray, " m"]) -> float:
    return float(np.quantile(scores, 1 - MARGIN * RATE)) if scores.size else NEVER
