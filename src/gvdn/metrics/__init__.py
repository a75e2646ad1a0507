"""Pure functions from probabilities, embeddings and labels to numbers. The caller leaves out unlabelled nodes."""

from gvdn.metrics.classification import (
    Classification,
    ClassScores,
    average_precision,
    classification,
    macro_f1,
    roc_auc,
)
from gvdn.metrics.decision import (
    Decision,
    RiskCoverage,
    choose_threshold,
    conformal_sets,
    conformal_threshold,
    risk_coverage,
)
from gvdn.metrics.probabilities import (
    Uncertainty,
    accuracy,
    brier_score,
    class_separation,
    entropy,
    expected_calibration_error,
    normalised_entropy,
    split_entropy,
)

__all__ = [
    "ClassScores",
    "Classification",
    "Decision",
    "RiskCoverage",
    "Uncertainty",
    "accuracy",
    "average_precision",
    "brier_score",
    "choose_threshold",
    "class_separation",
    "classification",
    "conformal_sets",
    "conformal_threshold",
    "entropy",
    "expected_calibration_error",
    "macro_f1",
    "normalised_entropy",
    "risk_coverage",
    "roc_auc",
    "split_entropy",
]
