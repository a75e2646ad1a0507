"""The whole story on one graph: train, perturb three ways, recover, and look at the embeddings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from gvdn.data import load_graph
from gvdn.graph import Graph, Positions, Split, random_split
from gvdn.methods.gvdn import GVDN
from gvdn.metrics import accuracy
from gvdn.perturbations import Perturbed, perturb
from gvdn.seeds import stream
from gvdn.training.loop import Callback

ProgressBar = Callable[[str, int], AbstractContextManager[Callback | None]]

PERTURBATIONS = {
    "random connections": ("random-connections", {}),
    "information sparsity, links only": ("information-sparsity", {"variant": "links-only"}),
    "information sparsity, literal": ("information-sparsity", {"variant": "literal"}),
}


@dataclass(frozen=True)
class Chapter:
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
    lines: list[Chapter]
    histories: dict[str, list[dict[str, float]]]
    maps: dict[str, np.ndarray]
    labels: np.ndarray
    class_names: tuple[str, ...]
