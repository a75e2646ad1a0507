"""What a user should be told of a training that went wrong without failing."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gvdn.training.loop import Outcome

FIRST = 5
"""A training that takes one of so many first epochs has hardly begun ..."""
ENOUGH = 25
"""... unless it had fewer epochs than this."""
NAMED = 5
"""Classes that a sentence names at most."""


def early_epoch(outcome: Outcome) -> str | None:
    """A sentence where the weights are those of one of the first epochs."""
    if outcome.score is None or outcome.epoch >= FIRST or len(outcome.history) < ENOUGH:
        return None
    return (
        f"the weights of epoch {outcome.epoch + 1} of {len(outcome.history)} were taken: the network is hardly "
        "trained; try select=macro-f1 or auc, class_weight=balanced, or more labels"
    )


def one_class(model: Any, probs: np.ndarray) -> str | None:
    """A sentence where one class is named for every node."""
    named = np.unique(model.decide(probs))
    if len(named) > 1 or len(probs) < 2:
        return None
    return (
        f"the model names one class only, {model.class_names_[named[0]]!r}; try class_weight=balanced, select=macro-f1 "
        "or auc, or gvdn threshold"
    )


def untrained(counts: Mapping[str, int]) -> str | None:
    """A sentence where some class has no training node."""
    without = [name for name, count in counts.items() if not count]
    if not without:
        return None
    named = ", ".join(map(repr, without[:NAMED])) + (", …" if len(without) > NAMED else "")
    return f"no training node has the class {named}, so it is not learned; label more nodes, or give --split a file"


def unchosen(outcome: Outcome) -> str | None:
    """A sentence where no validation node chose the epoch."""
    return "there is no validation node, so the last epoch was taken" if outcome.score is None else None


def training_warnings(model: Any, probs: np.ndarray) -> list[str]:
    """Everything to be told of a fitted model, given its predictions."""
    return [said for said in (early_epoch(model.outcome_), one_class(model, probs)) if said is not None]
