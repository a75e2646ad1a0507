"""Whether the probabilities mean what they say."""

import numpy as np
from jaxtyping import Float, Int


def expected_calibration_error(
    probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], *, bins: int = 15
) -> float:
    """Sum over bins of confidence of |accuracy - confidence|, weighted by the share of nodes in the bin.

    Naeini et al., Obtaining well calibrated probabilities using Bayesian binning (AAAI 2015); bins of equal width,
    closed above.
    """
    confidence = probs.max(axis=1)
    right = probs.argmax(axis=1) == labels
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(place, weights=right - confidence.astype(np.float64), minlength=bins)
    return float(np.abs(gaps).sum() / len(labels))


def brier_score(probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> float:
    """Mean over the nodes of sum_k (p_k - [k is the label])^2: 0 is best, 2 is worst (Brier 1950)."""
    wanted = np.eye(probs.shape[1])[labels]
    return float(((probs - wanted) ** 2).sum(axis=1).mean())
