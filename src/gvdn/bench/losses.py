"""Every loss over the epochs, thinned out for a record."""

from __future__ import annotations

from collections.abc import Sequence

from gvdn.experiments.encounter import Encounter
from gvdn.experiments.runs import Record

EVERY = 5
"""Epochs from one that is kept to the next."""


def losses_kept(met: Encounter) -> Record:
    """Recovery as usual, with the losses of the fit and of the recovery."""
    model, _, found = met.recovered()
    histories = {"fit": met.fit.model.outcome_.history, "recover": model.outcome_.history}
    return found | {"losses": {name: thinned(history) for name, history in histories.items()}}


def thinned(history: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Every fifth epoch, counted from 1, and each of its losses to four figures; the validation score is no loss."""
    shown = range(0, len(history), EVERY)
    names = [name for name in history[0] if name != "val"] if history else []
    losses = {name: [float(f"{history[epoch][name]:.4g}") for epoch in shown] for name in names}
    return {"epochs": [float(epoch + 1) for epoch in shown], **losses}
