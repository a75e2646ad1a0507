"""What a run leaves behind. Imports no torch: reports are drawn from this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """One perturbation: accuracies on its victims, None where a column makes no sense."""

    perturbation: str
    victims: int
    clean: float
    perturbed: float
    recovered: float
    unseen: float | None
    snapshot: float


@dataclass(frozen=True, eq=False)
class Story:
    """Everything the table and the page show."""

    graph: str
    facts: dict[str, str]
    lines: list[Line]
    histories: dict[str, list[dict[str, float]]]
    maps: dict[str, np.ndarray]
    labels: np.ndarray
    class_names: tuple[str, ...]
