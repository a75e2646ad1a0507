"""What the links of the clean graph say of pairs of classes."""

import numpy as np
from jaxtyping import Float

from gvdn.trust.rows import Pairs, Probs

TINY = 1e-6


def class_pairs(classes: Probs, edges: Pairs) -> Float[np.ndarray, "k k"]:
    """T_kl = P(k, l on a link) / P(k) P(l), from soft classes, with one link of chance counted among the others."""
    share = classes.mean(axis=0)
    chance = np.outer(share, share)
    joint = classes[edges[:, 0]].T @ classes[edges[:, 1]]
    return ((joint + joint.T) / 2 + chance) / (len(edges) + 1) / np.maximum(chance, TINY**2)
