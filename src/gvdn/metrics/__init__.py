"""Pure functions from probabilities and labels to a number. Nodes without a label are left out by the caller."""

from gvdn.metrics.calibration import brier_score, expected_calibration_error
from gvdn.metrics.classification import accuracy, macro_f1
from gvdn.metrics.separation import class_separation
from gvdn.metrics.uncertainty import entropy, normalised_entropy

__all__ = [
    "accuracy",
    "brier_score",
    "class_separation",
    "entropy",
    "expected_calibration_error",
    "macro_f1",
    "normalised_entropy",
]
