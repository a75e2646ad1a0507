"""What methods that store a baseline of the clean graph share: `diagnose`, and the baseline in their files."""

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from gvdn.graph import Graph, GraphLike
from gvdn.methods.labels import StoredLabels
from gvdn.trust.baseline import Answers, Baseline
from gvdn.trust.calibration import calibrate
from gvdn.trust.diagnosis import Diagnosis, diagnose
from gvdn.trust.fitting import fit_trust
from gvdn.trust.model import TrustModel
from gvdn.trust.stored import LazyBaseline, baseline_arrays, restored_baseline


def lazy_baseline(
    graph: Graph, asked: Answers, labels: StoredLabels, *, seed: int, device: torch.device
) -> LazyBaseline:
    """What is stored of a clean graph for a model that was fitted on it with these labels.

    Args:
        asked: the model's class probabilities on a graph.
    """
    return LazyBaseline(
        partial(Baseline.of, graph, asked, seed=seed, device=device),
        partial(_calibrated, graph, asked, seed),
        partial(_trusting, graph, asked, labels, seed),
    )


def _calibrated(graph: Graph, asked: Answers, seed: int, stored: Baseline, trust: TrustModel) -> Baseline:
    return replace(stored, calibration=calibrate(trust, stored, graph, asked, seed=seed))


def _trusting(graph: Graph, asked: Answers, labels: StoredLabels, seed: int, stored: Baseline) -> TrustModel:
    """The trust model; validation labels count in its blend, and training nodes never play the part of new ones."""
    validation, trained = np.full(graph.num_nodes, -1), np.zeros(graph.num_nodes, dtype=bool)
    rows = graph.locate(labels.val_ids)
    validation[rows[rows >= 0]] = labels.val_labels[rows >= 0]
    rows = graph.locate(labels.train_ids)
    trained[rows[rows >= 0]] = True
    own = stored.own.astype(np.float64)
    return fit_trust(graph, asked, stored.student, own, labels=validation, trained=trained, seed=seed)


class Diagnosing:
    """A part of a method: `remember` calls `keep_baseline`; `late_arrays` and `restore` hand the baseline on."""

    baseline_: LazyBaseline

    def keep_baseline(self: Any, graph: Graph) -> None:
        """Keep the clean graph, so that baseline and trust model can be computed when they are first needed."""
        fitted = copy.copy(self)
        vars(fitted).pop("baseline_", None)  # of an earlier fit, whose graph need not be kept
        self.baseline_ = lazy_baseline(graph, fitted.asked, self.labels_, seed=self.seed_, device=self.torch_device())

    def asked(self: Any, graph: Graph) -> np.ndarray:
        """The class probabilities that a diagnosis compares with the stored ones."""
        return self.predict_proba(graph)

    def diagnose(self: Any, graph: GraphLike) -> Diagnosis:
        """Compare a graph with what was stored of the clean one: is it perturbed, where, and what should be done.

        The thresholds were calibrated on natural churn: 1 % of the links of the clean graph exchanged by links between
        the same classes, 59 times. No label is read. The first call fits the trust model and computes the baseline,
        unless the model was loaded.
        """
        graph, stored = self.accepted(graph), self.baseline_.get()
        return diagnose(self.baseline_.trust(), stored, graph, self.asked(graph), self.class_names_)

    def why(self, graph: Graph) -> list[str]:
        """How the prediction of each node was made, where it is not the network's on the graph as given."""
        return [""] * graph.num_nodes

    def late_arrays(self) -> dict[str, np.ndarray]:
        return baseline_arrays(self.baseline_)

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)  # type: ignore[misc]
        self.baseline_ = restored_baseline(arrays)
