"""Decisions of a fitted method that are chosen on its validation nodes: a threshold, costs, sets of classes.

The validation nodes also chose the epoch, so what is promised on them is slightly better than what comes.
"""

import copy
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.errors import InvalidInput
from gvdn.graph import GraphLike
from gvdn.graph.graph import find_ids
from gvdn.metrics import Decision, choose_threshold, conformal_sets, conformal_threshold
from gvdn.registry import did_you_mean

Costs = Float[np.ndarray, "k k"]


def calibrated(model: Any, graph: GraphLike) -> Any:
    """A copy of a fitted method that stores its predictions for the validation nodes of this graph."""
    graph = model.accepted(graph)
    where = find_ids(graph.ids, model.labels_.val_ids)
    new = copy.copy(model)
    probs = np.full((len(where), len(model.class_names_)), 1 / len(model.class_names_))
    probs[where >= 0] = model.predict_proba(graph)[where[where >= 0]]
    new.val_probs_ = probs
    return new


def validation(model: Any) -> tuple[Float[np.ndarray, "v k"], Int64[np.ndarray, " v"]]:
    """The stored predictions for the validation nodes, and their labels; raises where there are none."""
    if model.val_probs_ is None or not len(model.val_probs_):
        raise InvalidInput(
            f"this {type(model).__name__} stores no predictions for validation nodes; train it with some, by gvdn "
            "train, or call gvdn.methods.decisions.calibrated(model, graph)"
        )
    return model.val_probs_, model.labels_.val_labels


def with_threshold(model: Any, goal: str = "f1", positive: str | None = None) -> tuple[Any, float]:
    """A copy that names the positive class from a threshold on, and the threshold; the rarer class when left out."""
    probs, labels = validation(model)
    names = model.class_names_
    if len(names) != 2:
        raise InvalidInput(f"expected a model of two classes for a threshold, got {len(names)}; give costs instead")
    number = int(np.bincount(labels, minlength=2).argmin()) if positive is None else class_number(names, positive)
    threshold = choose_threshold(probs[:, number], labels == number, goal)
    return decided(model, Decision.at_threshold(threshold, number)), threshold


def decided(model: Any, decision: Decision | None) -> Any:
    """A copy of a fitted method that decides so; None names the most probable class."""
    number = len(model.class_names_)
    if decision is not None and decision.costs.shape != (number, number):
        raise InvalidInput(f"expected {number} x {number} costs, one row per class, got {decision.costs.shape}")
    new = copy.copy(model)
    new.decision_ = decision
    return new


def prediction_sets(model: Any, probs: Float[np.ndarray, "n k"], coverage: float) -> Bool[np.ndarray, "n k"]:
    """For each node the classes that hold the true one with this probability (`conformal_threshold`)."""
    return conformal_sets(probs, conformal_threshold(*validation(model), coverage))


def class_number(names: tuple[str, ...], name: str) -> int:
    """The number of a class by its name."""
    if name not in names:
        raise InvalidInput(f"unknown class {name!r}{did_you_mean(name, list(names))}")
    return names.index(name)
