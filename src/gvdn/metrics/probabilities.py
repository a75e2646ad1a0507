"""Accuracy, calibration and entropy of class probabilities; separation of embeddings."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

TINY = 1e-12

Probs = Float[np.ndarray, "n k"]
Labels = Int[np.ndarray, " n"]


def accuracy(probs: Probs, labels: Labels) -> float:
    """The share of nodes whose most probable class is their label; of equal probabilities the lower class counts.

    >>> accuracy(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))
    0.5
    """
    return float((probs.argmax(axis=1) == labels).mean())


def expected_calibration_error(probs: Probs, labels: Labels, *, bins: int = 15) -> float:
    """Sum over bins of confidence (equal width, closed above) of |accuracy - confidence| times the share of nodes.

    Naeini et al., Obtaining well calibrated probabilities using Bayesian binning (AAAI 2015).

    >>> round(expected_calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])), 3)
    0.4
    """
    confidence = probs.max(axis=1)
    right = probs.argmax(axis=1) == labels
    which = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(which, weights=right - confidence.astype(np.float64), minlength=bins)
    return float(np.abs(gaps).sum() / len(labels))


def brier_score(probs: Probs, labels: Labels) -> float:
    """Mean over the nodes of sum_k (p_k - [k is the label])^2: 0 is best, 2 is worst (Brier 1950)."""
    return float(((probs - np.eye(probs.shape[1])[labels]) ** 2).sum(axis=1).mean())


def class_separation(embeddings: Float[np.ndarray, "n h"], labels: Labels) -> float:
    """Mean silhouette of the true classes (Rousseeuw 1987), in [-1, 1]; 0 where there are not two classes to compare.

    Of each node, (b - a) / max(a, b): a is its mean distance to its own class, b to the nearest other one.
    """
    from sklearn.metrics import silhouette_score

    classes = len(np.unique(labels))
    return float(silhouette_score(embeddings, labels)) if 1 < classes < len(labels) else 0.0


def entropy(probs: Probs) -> Float[np.ndarray, " n"]:
    """-sum_k p ln p of each row; 0 ln 0 = 0."""
    return -(probs * np.log(np.maximum(probs, TINY))).sum(axis=1)


def normalised_entropy(probs: Probs) -> float:
    """Mean over the nodes of the entropy divided by ln K, its largest value (Eq. 14).

    >>> normalised_entropy(np.array([[0.5, 0.5], [1.0, 0.0]]))
    0.5
    """
    return float(entropy(probs).mean() / np.log(probs.shape[1]))


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The mean of several draws of class probabilities, and its entropy in nats: total = expected + mutual."""

    probs: Probs
    total: Float[np.ndarray, " n"]
    """Entropy of the mean."""
    expected: Float[np.ndarray, " n"]
    """Mean entropy of the draws: the part that no better model could remove."""
    mutual: Float[np.ndarray, " n"]
    """Mutual information between the class and the draw: how much the draws disagree."""


def split_entropy(draws: Float[np.ndarray, "s n k"]) -> Uncertainty:
    """The decomposition of Depeweg et al. (ICML 2018) over S draws of class probabilities."""
    mean = draws.mean(axis=0)
    total = entropy(mean)
    expected = np.mean([entropy(draw) for draw in draws], axis=0)
    return Uncertainty(mean, total, expected, np.maximum(total - expected, 0))
