"""How often, and how evenly, the most probable class is the right one."""

import numpy as np
from jaxtyping import Float, Int


def accuracy(probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> float:
    """Share of the nodes whose most probable class is their label; ties go to the lower class."""
    return float((probs.argmax(axis=1) == labels).mean())


def macro_f1(probs: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]) -> float:
    """Mean over the classes that occur (in labels or predictions) of 2 tp / (2 tp + fp + fn)."""
    predicted, classes = probs.argmax(axis=1), probs.shape[1]
    right = np.bincount(labels[predicted == labels], minlength=classes)
    either = np.bincount(labels, minlength=classes) + np.bincount(predicted, minlength=classes)
    return float((2 * right[either > 0] / either[either > 0]).mean())
