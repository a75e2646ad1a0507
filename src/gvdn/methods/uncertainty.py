"""How unsure a prediction is, and whether the data or the model is to blame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gvdn.metrics import entropy


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The predictive mean over draws, and its entropy in nats, split in two: total = expected + mutual."""

    probs: Float[np.ndarray, "n k"]
    total: Float[np.ndarray, " n"]
    """Entropy of the mean."""
    expected: Float[np.ndarray, " n"]
    """Mean entropy of the draws: what no better model could remove."""
    mutual: Float[np.ndarray, " n"]
    """Mutual information between the class and the draw: how much the draws disagree."""


def split_entropy(draws: Float[np.ndarray, "s n k"]) -> Uncertainty:
    """The decomposition of Depeweg et al. (ICML 2018) over S draws of class probabilities."""
    mean = draws.mean(axis=0)
    total = entropy(mean)
    expected = np.mean([entropy(draw) for draw in draws], axis=0)
    return Uncertainty(mean, total, expected, np.maximum(total - expected, 0))
