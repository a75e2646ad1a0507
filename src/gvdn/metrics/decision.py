"""From probabilities to decisions: a threshold, costs of errors, or a set of classes that holds the true one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.errors import InvalidInput
from gvdn.metrics.probabilities import Labels, Probs

Scores = Float[np.ndarray, " n"]
Positive = Bool[np.ndarray, " n"]


class Confusion(NamedTuple):
    """Counts of each way a threshold can be right or wrong, one entry per threshold."""

    hits: Int64[np.ndarray, " t"]
    false_alarms: Int64[np.ndarray, " t"]
    misses: Int64[np.ndarray, " t"]
    rejections: Int64[np.ndarray, " t"]

    @property
    def recall(self) -> Float[np.ndarray, " t"]:
        return self.hits / np.maximum(self.hits + self.misses, 1)

    @property
    def precision(self) -> Float[np.ndarray, " t"]:
        return self.hits / np.maximum(self.hits + self.false_alarms, 1)

    @property
    def f1(self) -> Float[np.ndarray, " t"]:
        return 2 * self.hits / np.maximum(2 * self.hits + self.false_alarms + self.misses, 1)

    @property
    def balanced_accuracy(self) -> Float[np.ndarray, " t"]:
        return (self.recall + self.rejections / np.maximum(self.rejections + self.false_alarms, 1)) / 2


GOALS: dict[str, Callable[[Confusion], Float[np.ndarray, " t"]]] = {
    "f1": lambda made: made.f1,
    "balanced-accuracy": lambda made: made.balanced_accuracy,
}
"""What a threshold can maximise."""


def choose_threshold(scores: Scores, positive: Positive, goal: str = "f1") -> float:
    """The threshold on the probability of the positive class that is best for the goal, on these nodes.

    Goals: `f1`, `balanced-accuracy`, `recall=0.9` (the highest precision with at least that recall), `precision=0.8`
    (the highest recall with at least that precision). A node is positive when its score is at least the threshold; of
    equally good thresholds the middle one is taken, half way to the next score below.

    >>> choose_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True]))
    0.25
    """
    if not positive.any() or positive.all():
        raise InvalidInput("expected nodes of both classes to choose a threshold on, got one; give more labels")
    values = np.unique(scores)[::-1]
    made = confusion(scores, positive, values)
    name, equals, text = goal.partition("=")
    if not equals and name in GOALS:
        worth = GOALS[name](made)
    elif equals and name in ("recall", "precision"):
        asked, best = _share_of(text, goal), made.precision if name == "recall" else made.recall
        enough = getattr(made, name) >= asked
        if not enough.any():
            raise InvalidInput(
                f"no threshold reaches {name} {asked:g} here; the most is {getattr(made, name).max():.3f}"
            )
        worth = np.where(enough, best, -1.0)
    else:
        raise InvalidInput(f"unknown goal {goal!r}; expected {', '.join(GOALS)}, recall=SHARE or precision=SHARE")
    ties = np.flatnonzero(worth == worth.max())
    chosen = int(ties[len(ties) // 2])
    below = values[chosen + 1] if chosen + 1 < len(values) else 0.0
    return float((values[chosen] + below) / 2)


def confusion(scores: Scores, positive: Positive, thresholds: Float[np.ndarray, " t"]) -> Confusion:
    """The counts at each threshold; positive is predicted from the threshold upwards."""
    ordered = {True: np.sort(scores[positive]), False: np.sort(scores[~positive])}
    hits, alarms = (len(part) - np.searchsorted(part, thresholds) for part in (ordered[True], ordered[False]))
    return Confusion(hits, alarms, int(positive.sum()) - hits, int((~positive).sum()) - alarms)


@dataclass(frozen=True, eq=False)
class Decision:
    """How classes are named from probabilities: by costs of errors, of which a threshold is the case of two classes.

    `costs[i, j]` is what it costs to name class j where i is true; the class of the smallest expected cost is named.
    """

    costs: Float[np.ndarray, "k k"]

    def __post_init__(self) -> None:
        costs = self.costs
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not np.isfinite(costs).all() or (costs < 0).any():
            raise InvalidInput(f"expected a square table of costs of at least 0, got the shape {costs.shape}")
        if (np.diag(costs)[:, None] > costs).any():
            raise InvalidInput(
                "expected costs that are smallest where the class is right, got a right one that costs more"
            )

    @classmethod
    def at_threshold(cls, threshold: float, positive: int) -> "Decision":
        """The positive one of two classes is named where its probability is at least the threshold."""
        if not 0 <= threshold <= 1:
            raise InvalidInput(f"expected a threshold in [0, 1], got {threshold}")
        costs = np.zeros((2, 2))
        costs[positive, 1 - positive], costs[1 - positive, positive] = 1 - threshold, threshold
        return cls(costs)

    def decide(self, probs: Probs) -> Int64[np.ndarray, " n"]:
        """The class of the smallest expected cost; of equal ones, the more probable."""
        expected = probs @ self.costs
        return (expected - 1e-12 * probs).argmin(axis=1)


def conformal_threshold(probs: Probs, labels: Labels, coverage: float) -> float:
    """The largest 1 - p that a class may have to be in the set, so that sets hold the true class with this probability.

    Split-conformal prediction (Vovk et al. 2005; Lei et al. 2018): the ceil((n + 1) coverage)-th smallest of
    1 - p_label over n nodes that were not trained on. The promise holds for nodes that are drawn like these, on
    average over draws of them. 1 (every class) where there are too few nodes to promise anything.
    """
    if not 0 < coverage < 1:
        raise InvalidInput(f"expected a coverage between 0 and 1, got {coverage}; 0.9 is usual")
    rank = math.ceil((len(labels) + 1) * coverage)
    if rank > len(labels):
        return 1.0
    return float(np.sort(1 - probs[np.arange(len(labels)), labels])[rank - 1])


def conformal_sets(probs: Probs, threshold: float) -> Bool[np.ndarray, "n k"]:
    """The classes whose 1 - p is at most the threshold."""
    return 1 - probs <= threshold


class RiskCoverage(NamedTuple):
    """The share of errors among the nodes that are answered, for each share of nodes that are answered."""

    coverage: Float[np.ndarray, " n"]
    risk: Float[np.ndarray, " n"]

    @property
    def area(self) -> float:
        """The mean risk over all coverages; lower is better."""
        return float(self.risk.mean())


def risk_coverage(probs: Probs, labels: Labels) -> RiskCoverage:
    """Answer the most confident nodes first (El-Yaniv and Wiener 2010)."""
    order = np.argsort(-probs.max(axis=1), kind="stable")
    wrong = (probs.argmax(axis=1) != labels)[order]
    number = np.arange(1, len(labels) + 1)
    return RiskCoverage(number / len(labels), wrong.cumsum() / number)


def _share_of(text: str, goal: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise InvalidInput(f"expected a share between 0 and 1 in {goal!r}, such as recall=0.9")
    return share
