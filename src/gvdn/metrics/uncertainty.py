"""How sure the probabilities are, right or wrong."""

import numpy as np
from jaxtyping import Float

TINY = 1e-12


def entropy(probs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    """-sum_k p ln p of each row; 0 ln 0 = 0."""
    return -(probs * np.log(np.maximum(probs, TINY))).sum(axis=1)


def normalised_entropy(probs: Float[np.ndarray, "n k"]) -> float:
    """Mean over the nodes of the entropy divided by ln K, its largest value (Eq. 13)."""
    return float(entropy(probs).mean() / np.log(probs.shape[1]))
