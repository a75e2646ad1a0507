"""The link model: the log-odds that a pair of nodes is linked for a reason, against a pair drawn at random."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Features, Graph
from gvdn.graph.graph import not_linked
from gvdn.seeds import generator
from gvdn.trust.rows import Pairs, Probs, cosines

MOST = 20_000
"""Links, and as many random pairs, that the model is fitted on at most."""
TINY = 1e-6
NEWTON = 25
"""Steps, far more than four weights need."""


@dataclass(frozen=True, eq=False)
class LinkModel:
    """log P(link | u, v) / P(random pair | u, v) = beta . (1, a, b, a b), a logistic regression on numbers of a pair.

    a is the signed square root of the cosine of the two feature rows. b is the agreement of their classes: the
    logarithm of c_u^T T c_v, where c are class probabilities and T_kl = P(k, l on a link) / P(k) P(l) is the
    class-pair table of the clean links. Of a stored node c is the stored answer, of a new one what the student says
    of its row, which is less certain, so that a pair with a new node has weights of its own.

    Attributes:
        table: T, symmetric.
        beta: the weights of a pair of stored nodes, and of a pair with a new one; the intercepts belong to as many
            links as random pairs.
    """

    table: Float[np.ndarray, "k k"]
    beta: Float[np.ndarray, "2 4"]

    def log_odds(
        self, features: Features, classes: Probs, pairs: Pairs, new: Bool[np.ndarray, " m"]
    ) -> Float[np.ndarray, " m"]:
        """Above 0 where the pair looks like a link of the clean graph, below where it looks like chance.

        Args:
            classes: class probabilities of each node of the graph.
            new: which pairs have a new node.
        """
        numbers = measured(features, self.table, (classes, classes), pairs)
        return np.where(new, numbers @ self.beta[1], numbers @ self.beta[0])


def fit_links(graph: Graph, answers: Probs, own: Probs, *, seed: int) -> LinkModel:
    """The link model of a clean graph: its links against random pairs.

    Args:
        answers: the model's answers on the graph.
        own: the student's, from each node's own row.
    """
    rng, edges = generator(seed, "trust", "links"), graph.edges
    table, beta = class_pairs(answers, edges), np.zeros((2, 4))
    links = edges if len(edges) <= MOST else edges[np.sort(rng.choice(len(edges), MOST, replace=False))]
    others = not_linked(graph, rng.integers(0, graph.num_nodes, (len(links), 2)))
    if len(links) and len(others):
        truth = np.repeat([1, 0], [len(links), len(others)])
        for number, first in enumerate((answers, own)):
            found = [measured(graph.features, table, (first, answers), part) for part in (links, others)]
            beta[number] = logistic(np.concatenate(found), truth)
    return LinkModel(table, beta)


def logistic(numbers: Float[np.ndarray, "m 4"], truth: Int64[np.ndarray, " m"]) -> Float[np.ndarray, " 4"]:
    """The weights of a logistic regression in which both outcomes count alike, by Newton's method.

    A ridge of 1 on all but the intercept keeps them finite where the outcomes can be separated.
    """
    weight = np.where(truth == 1, 1 / max((truth == 1).sum(), 1), 1 / max((truth == 0).sum(), 1)) * len(truth) / 2
    ridge, beta = np.diag([TINY, *np.ones(numbers.shape[1] - 1)]), np.zeros(numbers.shape[1])
    for _ in range(NEWTON):
        probs = 1 / (1 + np.exp(-np.clip(numbers @ beta, -30, 30)))
        curvature = (numbers * (weight * np.maximum(probs * (1 - probs), TINY))[:, None]).T @ numbers + ridge
        beta = beta + np.linalg.solve(curvature, numbers.T @ (weight * (truth - probs)) - ridge @ beta)
    return beta


def measured(
    features: Features, table: Float[np.ndarray, "k k"], classes: tuple[Probs, Probs], pairs: Pairs
) -> Float[np.ndarray, "m 4"]:
    """(1, a, b, a b) of each pair, with the class probabilities of its first and of its second node."""
    cosine = cosines(features, pairs)
    a = np.sign(cosine) * np.sqrt(np.abs(cosine))
    first, second = classes[0][pairs[:, 0]], classes[1][pairs[:, 1]]
    b = np.log(np.maximum(np.einsum("mk,mk->m", first @ table, second), TINY))
    return np.stack([np.ones(len(pairs)), a, b, a * b], axis=1)


def class_pairs(classes: Probs, edges: Pairs) -> Float[np.ndarray, "k k"]:
    """T_kl = P(k, l on a link) / P(k) P(l), from soft classes, with one link of chance counted among the others."""
    share = classes.mean(axis=0)
    chance = np.outer(share, share)
    joint = classes[edges[:, 0]].T @ classes[edges[:, 1]]
    return ((joint + joint.T) / 2 + chance) / (len(edges) + 1) / np.maximum(chance, TINY**2)
