"""Scores for classes of any size: recall, precision, balanced accuracy, macro-F1, and the ranking of two classes."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.metrics.probabilities import Labels, Probs


@dataclass(frozen=True)
class ClassScores:
    """One class: the nodes that have it, the nodes that were predicted to have it, and how the two agree.

    `recall` is None where no node has the class, `precision` where none was predicted to have it.
    """

    name: str
    count: int
    predicted: int
    recall: float | None
    precision: float | None
    f1: float


@dataclass(frozen=True)
class Classification:
    """How well classes were predicted; the majority rate is the accuracy of always naming the most frequent class.

    With two classes, `roc_auc` and `average_precision` are of the ranking by the probability of `positive`, the rarer.
    """

    nodes: int
    accuracy: float
    majority_rate: float
    balanced_accuracy: float
    macro_f1: float
    positive: str | None
    roc_auc: float | None
    average_precision: float | None
    classes: tuple[ClassScores, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def classification(
    probs: Probs, labels: Labels, class_names: tuple[str, ...], predicted: Int64[np.ndarray, " n"] | None = None
) -> Classification:
    """The scores of class probabilities; `predicted` are the classes where they are not the most probable ones.

    Labels past the last class count as wrong.
    """
    chosen = probs.argmax(axis=1) if predicted is None else predicted
    number = len(class_names)
    counts = np.bincount(labels, minlength=number)
    hits = np.bincount(labels[chosen == labels], minlength=number)[:number]
    named = np.bincount(chosen, minlength=number)
    classes = tuple(
        ClassScores(name, n, m, _share(hit, n), _share(hit, m), 2 * hit / (n + m) if n + m else 0.0)
        for name, n, m, hit in zip(class_names, counts[:number].tolist(), named.tolist(), hits.tolist(), strict=True)
    )
    recalls = [one.recall for one in classes if one.recall is not None]
    seen = [one.f1 for one in classes if one.count or one.predicted]
    rarer = int(counts[:2].argmin()) if number == 2 and (counts[:2] > 0).all() else None
    is_rarer = labels == rarer
    return Classification(
        nodes=len(labels),
        accuracy=float((chosen == labels).mean()),
        majority_rate=float(counts.max() / len(labels)),
        balanced_accuracy=float(np.mean(recalls)) if recalls else 0.0,
        macro_f1=float(np.mean(seen)) if seen else 0.0,
        positive=None if rarer is None else class_names[rarer],
        roc_auc=None if rarer is None else roc_auc(probs[:, rarer], is_rarer),
        average_precision=None if rarer is None else average_precision(probs[:, rarer], is_rarer),
        classes=classes,
    )


def macro_f1(chosen: Int64[np.ndarray, " n"], labels: Labels) -> float:
    """The mean of F1 = 2 hits / (nodes of the class + nodes predicted so) over the classes that occur in either."""
    number = int(max(chosen.max(), labels.max())) + 1
    hits = np.bincount(labels[chosen == labels], minlength=number)
    either = np.bincount(labels, minlength=number) + np.bincount(chosen, minlength=number)
    return float((2 * hits[either > 0] / either[either > 0]).mean())


def roc_auc(scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"]) -> float:
    """The chance that a positive node has a higher score than a negative one; equal scores count half.

    >>> roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[which]
    many, few = int(positive.sum()), int((~positive).sum())
    if not many or not few:
        return 0.5
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * few))


def average_precision(scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"]) -> float:
    """The sum over thresholds of the precision there times the recall that is gained; equal scores are one threshold.

    >>> round(average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])), 3)
    0.833
    """
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = positive[order].cumsum()[last]
    if not hits[-1]:
        return 0.0
    return float((np.diff(hits, prepend=0) / hits[-1] * (hits / (last + 1))).sum())


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
