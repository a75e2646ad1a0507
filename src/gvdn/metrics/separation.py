"""How far classes stand apart in an embedding."""

import numpy as np
from jaxtyping import Float, Int


def class_separation(embeddings: Float[np.ndarray, "n h"], labels: Int[np.ndarray, " n"]) -> float:
    """Mean silhouette of the true classes (Rousseeuw 1987), in [-1, 1]; 0 where there is nothing to tell apart.

    Of each node, (b - a) / max(a, b): a is its mean distance to its own class, b to the nearest other one.
    """
    from sklearn.metrics import silhouette_score

    classes = len(np.unique(labels))
    return float(silhouette_score(embeddings, labels)) if 1 < classes < len(labels) else 0.0
