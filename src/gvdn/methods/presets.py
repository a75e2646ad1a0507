"""The settings that the GVDN paper prints for all datasets; those of one dataset are in the catalogue."""

from __future__ import annotations

from typing import Any

PAPER: dict[str, Any] = {
    "learning_rate": 1e-3,
    "recovery_learning_rate": 1e-3,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "guard": False,
    "evidence_floor": 0.0,
    "pseudo_labels": "second-layer",
}
"""Adam at 1e-3, 200 epochs and 300 more, all lambdas 1, and none of our additions."""
