"""How unusual each node and each new link of a graph is, in nats, against what was stored of the clean graph."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Graph
from gvdn.trust.baseline import Baseline
from gvdn.trust.changes import Changes
from gvdn.trust.churn import CHURN
from gvdn.trust.front import Front
from gvdn.trust.guard import exceeds
from gvdn.trust.rows import Probs, l1_norms

CAP = 10.0
"""The most that a change of an answer, or one suspicious neighbour, counts for: 1 in 22,000."""
DOUBT = 0.01
"""How often the trust model is taken to be simply wrong: no link and no new row weighs more than 4.6 nats."""
TINY = 1e-12

PerNode = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The parts of the score of each node and each new link; each is 0 where nothing is unusual.

    Attributes:
        norm: how improbable a feature row above the largest norm seen is.
        row: how much less a changed row speaks for the stored answer, in log-probability of the student; of a new node
            how improbable it is that its row is honest.
        gained: how improbable so many new links are.
        lost: how improbable so many lost links are.
        neighbours: over the new links of a node, how badly each fits, and how unusual the node at its other end is.
        answer: how much less probable the stored answer has become.
        genuine: of each new link, the probability that it is genuine, by the trust model.
        misfit: how improbable it is that the link is genuine.
        contact: of each new link, how unusual each of its ends is in itself: its row, and how many other links it
            gained.
        hostile: the new links that are rather hostile than genuine.
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
    genuine: Float[np.ndarray, " m"]
    contact: Float[np.ndarray, "m 2"]

    @cached_property
    def nodes(self) -> PerNode:
        """The score of each node: the sum of its parts."""
        return self.norm + self.row + self.gained + self.lost + self.neighbours + self.answer

    @property
    def hostile(self) -> Bool[np.ndarray, " m"]:
        return self.genuine < 0.5

    @property
    def misfit(self) -> Float[np.ndarray, " m"]:
        return improbable(self.genuine)

    @property
    def links(self) -> Float[np.ndarray, " m"]:
        """The score of each new link."""
        return self.misfit + self.contact.sum(axis=1)


def weigh(front: Front, graph: Graph, answers: Probs) -> Evidence:
    """The evidence of a graph, of what the trust model says of it, and of a model's answers on it."""
    baseline, changes, judged = front.baseline, front.changes, front.judgement
    stored, known = changes.stored, changes.stored >= 0
    norms, row_changed = l1_norms(graph.features), known & judged.scene.doubted
    norm, row = _norm(baseline, norms), _row(front, row_changed)
    gained, lost = _gained(baseline, changes, changes.gained), _lost(changes)
    genuine, contact = judged.in_question, _contact(front, norm + row)
    neighbours = sum_over_links(changes.links, improbable(genuine)[:, None] + contact[:, ::-1], graph.num_nodes)
    answer, before = np.zeros(graph.num_nodes), baseline.answers[stored[known]]
    answer[known] = _drop(before, answers[known], before.argmax(axis=1))
    return Evidence(
        changes, norms, row_changed, answers.argmax(axis=1),
        norm, row, gained, lost, neighbours, answer, genuine, contact,
    )  # fmt: skip


def improbable(probability: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """-ln of a probability that the trust model gives, which may be wrong."""
    return -np.log(DOUBT + (1 - DOUBT) * probability)


def sum_over_links(links: Int64[np.ndarray, "m 2"], values: Float[np.ndarray, "m 2"], nodes: int) -> PerNode:
    """The sum, for each node, of the values at its end of the links."""
    return np.bincount(links.ravel(), weights=values.ravel(), minlength=nodes).astype(np.float64)


def _contact(front: Front, own: PerNode) -> Float[np.ndarray, "m 2"]:
    """The evidence `contact` of both ends of each new link, at most CAP each.

    All links of a new node are new. So of a link with a new node, how many others its ends gained, and the row of the
    new node, count times the probability that the link is hostile: its genuine links are not to blame.

    Args:
        own: how unusual the row of each node is.
    """
    links, others = front.changes.links, np.maximum(front.changes.gained - 1, 0)
    gained, new = _gained(front.baseline, front.changes, others)[links], front.known[links] < 0
    share = np.where(new.any(axis=1), 1 - front.judgement.in_question, 1)[:, None]
    of_new, of_stored = share * np.minimum(own[links] + gained, CAP), np.minimum(own[links] + share * gained, CAP)
    return np.where(new, of_new, of_stored)


def _norm(baseline: Baseline, norms: PerNode) -> PerNode:
    """ln(n + 1) + ln(norm / largest): a further row exceeds the largest of n with probability 1 / (n + 1)."""
    above = exceeds(norms, baseline.max_norm)
    times = np.maximum(norms / max(baseline.max_norm, TINY), 1)
    return np.where(above, np.log(baseline.number + 1) + np.log(times), 0)


def _row(front: Front, changed: Bool[np.ndarray, " n"]) -> PerNode:
    """The evidence `row`.

    Of a changed row of a stored node, what the student said of it before tells more than its honesty does, which the
    trust model learned on new nodes.
    """
    baseline, stored, judged = front.baseline, front.known, front.judgement
    row = np.where(stored < 0, improbable(judged.honest), 0)
    before = stored[changed]
    row[changed] = _drop(baseline.own[before], judged.scene.own[changed], baseline.answers[before].argmax(axis=1))
    return row


def _drop(before: Probs, now: Probs, classes: Int64[np.ndarray, " n"]) -> PerNode:
    """How much the log-probability of these classes fell; 0 where it rose, at most CAP."""
    rows = np.arange(len(classes))
    p, q = (np.maximum(probs[rows, classes].astype(np.float32), TINY) for probs in (before, now))
    return np.clip(np.log(p / q), 0, CAP).astype(np.float64)


def _gained(baseline: Baseline, changes: Changes, number: Int64[np.ndarray, " n"]) -> PerNode:
    """-ln of Chernoff's bound on P(Poisson(lambda) >= k) for this number k of new links of a stored node.

    lambda is the number that churn would give it. A new node's links are all new: its degree is compared with those of
    the clean graph.
    """
    k = number.astype(np.float64)
    mean = 2 * changes.old / max(baseline.number, 1)
    expected = np.maximum(_rate(changes) * (changes.before + mean), TINY)
    stored = np.where(k > expected, k * np.log(np.maximum(k, TINY) / expected) - k + expected, 0)
    new = np.log((1 + baseline.number) / (1 + baseline.as_many(number)))
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
