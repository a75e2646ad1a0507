"""A cell made real: graphs, split and fitted models, and what a record holds of an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvdn.experiments import protocol
from gvdn.experiments.cell import Cell
from gvdn.experiments.runs import Record
from gvdn.experiments.shared import shared
from gvdn.graph import Graph, random_split
from gvdn.methods import make_method
from gvdn.metrics import accuracy, brier_score, expected_calibration_error, normalised_entropy


class Fit(NamedTuple):
    """A fitted method, and how long that took."""

    model: Any
    seconds: float


class Encounter:
    """A cell made real: its graph and split, the graph that methods meet and who is scored on it, its method fitted.

    Fitting is shared by the modes that begin with the same graph; its seconds stand in each of their records. What an
    attack made is taken from the folder `kept`, if there is one.
    """

    def __init__(self, cell: Cell, device: str, kept: Path | None = None) -> None:
        self.cell, self.device = cell, device
        self.clean = protocol.graph_for(cell.dataset, cell.perturbation)
        self.split = random_split(self.clean, seed=cell.seed, **cell.split)
        self.perturbation_settings = protocol.settings_for(cell.dataset, cell.perturbation) | cell.perturbation_settings
        if kept is not None and cell.perturbation in protocol.ATTACKS:
            self.perturbed, self.scored = shared(kept, cell.meeting(), self._meet)
        else:
            self.perturbed, self.scored = self._meet()

    def _meet(self) -> protocol.Meeting:
        return protocol.perturbed(
            self.clean,
            self.cell.dataset,
            self.split,
            self.cell.perturbation,
            self.perturbation_settings,
            seed=self.cell.seed,
            device=self.device,
        )

    @cached_property
    def fit(self) -> Fit:
        """On the clean graph."""
        return self._fitted(self.clean)

    @cached_property
    def fit_in_training(self) -> Fit:
        """On the perturbed graph."""
        return self._fitted(self.perturbed)

    def _fitted(self, graph: Graph) -> Fit:
        blank = make_method(self.cell.method, self.cell.dataset, device=self.device, **self.cell.settings)
        return Fit(*timed(lambda: blank.fit(graph, self.split, seed=self.cell.seed)))

    @cached_property
    def scores_before(self) -> dict[str, float]:
        """Of the model fitted on the clean graph, there, on the same nodes."""
        return scores(self.fit.model.predict_proba(self.clean), self.clean.labels, self.scored)

    def answered(self, model: Any, probs: np.ndarray, seconds: dict[str, float]) -> Record:
        """What every record of an answer holds."""
        return {
            "settings": model.get_params(),
            "perturbation_settings": self.perturbation_settings,
            "met": self.perturbed.hash[:12],
            **scores(probs, self.clean.labels, self.scored),
            "epoch": model.outcome_.epoch,
            "validation": model.outcome_.score,
            "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
        }

    def answered_afterwards(self, model: Any, probs: np.ndarray, seconds: dict[str, float]) -> Record:
        """The same, for a model that was fitted on the clean graph and has a score there."""
        return self.answered(model, probs, {"fit": self.fit.seconds} | seconds) | {"clean": self.scores_before}

    def recovered(self, **how: Any) -> tuple[Any, np.ndarray, Record]:
        """The fitted model recovered on the perturbed graph, its answers there, and what a record holds of them."""
        fitted = self.fit.model
        model, recovering = timed(lambda: fitted.recover(self.perturbed, **how))
        probs, answering = timed(lambda: model.predict_proba(self.perturbed))
        return model, probs, self.answered_afterwards(model, probs, {"recover": recovering, "answer": answering})


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and its seconds."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def scores(probs: np.ndarray, labels: np.ndarray, nodes: np.ndarray) -> dict[str, float]:
    """What the metrics say of some nodes; test labels are read here, and by maps for the colours and the separation."""
    theirs, truth = probs[nodes], labels[nodes]
    return {
        "accuracy": round(accuracy(theirs, truth), 5),
        "entropy": round(normalised_entropy(theirs), 5),
        "ece": round(expected_calibration_error(theirs, truth), 5),
        "brier": round(brier_score(theirs, truth), 5),
        "nodes": len(nodes),
    }
