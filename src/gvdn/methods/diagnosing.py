"""What methods that store a baseline of the clean graph share: `diagnose`, and the baseline in their files."""

import copy
from functools import partial
from typing import Any

import numpy as np

from gvdn.graph import Graph, GraphLike
from gvdn.trust.baseline import Baseline
from gvdn.trust.diagnosis import Diagnosis, diagnose
from gvdn.trust.stored import LazyBaseline, baseline_arrays, restored_baseline


class Diagnosing:
    """A part of a method: `remember` calls `keep_baseline`; `late_arrays` and `restore` hand the baseline on."""

    baseline_: LazyBaseline

    def keep_baseline(self: Any, graph: Graph) -> None:
        """Keep the clean graph, so that the baseline can be computed when it is first needed."""
        fitted = copy.copy(self)
        vars(fitted).pop("baseline_", None)  # of an earlier fit, whose graph need not be kept
        make = partial(Baseline.of, graph, fitted.asked, seed=self.seed_, device=self.torch_device())
        self.baseline_ = LazyBaseline(make)

    def asked(self: Any, graph: Graph) -> np.ndarray:
        """The class probabilities that a diagnosis compares with the stored ones."""
        return self.predict_proba(graph)

    def diagnose(self: Any, graph: GraphLike) -> Diagnosis:
        """Compare a graph with what was stored of the clean one: is it perturbed, where, and what should be done.

        The thresholds were calibrated on natural churn: 1 % of the links of the clean graph exchanged by links between
        the same classes, 59 times. No label is read. The first call computes the baseline, unless the model was loaded.
        """
        graph = self.accepted(graph)
        return diagnose(self.baseline_.get(), graph, self.asked(graph), self.class_names_)

    def why(self, graph: Graph) -> list[str]:
        """How the prediction of each node was made, where it is not the network's on the graph as given."""
        return [""] * graph.num_nodes

    def late_arrays(self) -> dict[str, np.ndarray]:
        return baseline_arrays(self.baseline_.get())

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)  # type: ignore[misc]
        self.baseline_ = restored_baseline(arrays)
