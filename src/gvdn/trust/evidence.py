"""How unusual each node and each new link of a graph is, in nats, against what was stored of the clean graph."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Graph
from gvdn.trust.changes import Changes, changes_since
from gvdn.trust.churn import CHURN
from gvdn.trust.rows import Probs, digests, l1_norms

if TYPE_CHECKING:
    from gvdn.trust.baseline import Baseline

CAP = 10.0
"""The most that a change of an answer, or one suspicious neighbour, counts for: 1 in 22,000."""
TINY = 1e-12

PerNode = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The parts of the score of each node and each new link; each is 0 where nothing is unusual.

    Attributes:
        norm: how improbable a feature row above the largest norm seen is.
        row: how much less a changed row speaks for the stored answer, in log-probability of the student.
        gained: how improbable so many new links are.
        lost: how improbable so many lost links are.
        neighbours: over the new links of a node, how badly each fits, and how unusual the node at its other end is.
        answer: how much less probable the stored answer has become.
        misfit: of each new link, the log-odds that the pair is one of chance, if positive.
        contact: of each new link, how unusual each of its ends is in itself: its row, and how many other links it
            gained.
    """

    changes: Changes
    norms: PerNode
    row_changed: Bool[np.ndarray, " n"]
    answers: Int64[np.ndarray, " n"]
    norm: PerNode
    row: PerNode
    gained: PerNode
    lost: PerNode
    neighbours: PerNode
    answer: PerNode
    misfit: Float[np.ndarray, " m"]
    contact: Float[np.ndarray, "m 2"]

    @property
    def nodes(self) -> PerNode:
        """The score of each node: the sum of its parts."""
        return self.norm + self.row + self.gained + self.lost + self.neighbours + self.answer

    @property
    def links(self) -> Float[np.ndarray, " m"]:
        """The score of each new link."""
        return self.misfit + self.contact.sum(axis=1)


def weigh(baseline: "Baseline", graph: Graph, answers: Probs) -> Evidence:
    """The evidence of a graph and of a model's answers on it."""
    changes = changes_since(baseline.ids, baseline.edges, graph)
    stored, known = changes.stored, changes.stored >= 0
    norms = l1_norms(graph.features)
    row_changed = known & (digests(graph.features) != baseline.digests[stored])
    norm = _norm(baseline, norms)
    own, row = _rows(baseline, graph, changes, row_changed)
    gained, lost = _gained(baseline, changes, changes.gained), _lost(changes)
    others = _gained(baseline, changes, np.maximum(changes.gained - 1, 0))
    classes = np.where(known[:, None], baseline.answers[stored], own)
    new = ~known[changes.links].all(axis=1)
    misfit = np.maximum(-baseline.links.log_odds(graph.features, classes, changes.links, new), 0)
    contact = np.minimum((norm + row + others)[changes.links], CAP)
    neighbours = sum_over_links(changes.links, misfit[:, None] + contact[:, ::-1], graph.num_nodes)
    answer = np.where(known, _drop(baseline.answers[stored], answers, baseline.answers[stored].argmax(axis=1)), 0)
    return Evidence(
        changes, norms, row_changed, answers.argmax(axis=1),
        norm, row, gained, lost, neighbours, answer, misfit, contact,
    )  # fmt: skip


def sum_over_links(links: Int64[np.ndarray, "m 2"], values: Float[np.ndarray, "m 2"], nodes: int) -> PerNode:
    """The sum, for each node, of the values at its end of the links."""
    return np.bincount(links.ravel(), weights=values.ravel(), minlength=nodes).astype(np.float64)


def _norm(baseline: "Baseline", norms: PerNode) -> PerNode:
    """ln(n + 1) + ln(norm / largest): a further row exceeds the largest of n with probability 1 / (n + 1)."""
    above = norms > baseline.max_norm * (1 + 1e-5)
    times = np.maximum(norms / max(baseline.max_norm, TINY), 1)
    return np.where(above, np.log(len(baseline.ids) + 1) + np.log(times), 0)


def _rows(
    baseline: "Baseline", graph: Graph, changes: Changes, row_changed: Bool[np.ndarray, " n"]
) -> tuple[Probs, PerNode]:
    """What the student says of each row, asked anew only of rows that are new or changed; and the evidence `row`."""
    own, row = baseline.own[changes.stored].astype(np.float64), np.zeros(graph.num_nodes)
    asked = np.flatnonzero(row_changed | (changes.stored < 0))
    if asked.size:
        own[asked] = baseline.student.answers(graph.features[asked], graph.ids[asked])
    changed = np.flatnonzero(row_changed)
    before = changes.stored[changed]
    row[changed] = _drop(baseline.own[before], own[changed], baseline.answers[before].argmax(axis=1))
    return own, row


def _drop(before: Probs, now: Probs, classes: Int64[np.ndarray, " n"]) -> PerNode:
    """How much the log-probability of these classes fell; 0 where it rose, at most CAP."""
    rows = np.arange(len(classes))
    p, q = (np.maximum(probs[rows, classes].astype(np.float32), TINY) for probs in (before, now))
    return np.clip(np.log(p / q), 0, CAP).astype(np.float64)


def _gained(baseline: "Baseline", changes: Changes, number: Int64[np.ndarray, " n"]) -> PerNode:
    """-ln of Chernoff's bound on P(Poisson(lambda) >= k) for this number k of new links of a stored node.

    lambda is the number that churn would give it. A new node's links are all new: its degree is compared with those of
    the clean graph.
    """
    k = number.astype(np.float64)
    mean = 2 * changes.old / max(len(baseline.ids), 1)
    expected = np.maximum(_rate(changes) * (changes.before + mean), TINY)
    stored = np.where(k > expected, k * np.log(np.maximum(k, TINY) / expected) - k + expected, 0)
    larger = len(baseline.ids) - np.searchsorted(np.sort(baseline.degrees), number)
    new = np.log((1 + len(baseline.ids)) / (1 + larger))
    return np.where(changes.stored >= 0, stored, new)


def _lost(changes: Changes) -> PerNode:
    """-ln of Chernoff's bound on P(Binomial(d, rate) >= r) for r of d stored links lost: d KL(r/d || rate)."""
    rate, d = _rate(changes), np.maximum(changes.before, 1).astype(np.float64)
    share = np.clip(changes.lost / d, TINY, 1)
    rest = np.maximum(1 - share, TINY)
    return np.where(share > rate, d * (share * np.log(share / rate) + rest * np.log(rest / (1 - rate))), 0)


def _rate(changes: Changes) -> float:
    """The share of links that natural churn exchanges: that of the calibration, or more where this graph shows more.

    A perturbation that only adds links, or only takes some away, does not raise it.
    """
    return min(max(CHURN, changes.exchanged), 0.5)
