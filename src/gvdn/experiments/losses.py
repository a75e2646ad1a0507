"""Every loss over the epochs, thinned out for a record."""

from __future__ import annotations

from collections.abc import Sequence

from gvdn.experiments.measure import Encounter, timed
from gvdn.experiments.runs import Record

EVERY = 5
"""Epochs from one that is kept to the next."""


def losses_kept(met: Encounter) -> Record:
    """Recovery as usual, with the losses of the fit and of the recovery."""
    fitted = met.fit.model
    model, recovering = timed(lambda: fitted.recover(met.perturbed))
    probs, answering = timed(lambda: model.predict_proba(met.perturbed))
    kept = {"fit": thinned(fitted.outcome_.history), "recover": thinned(model.outcome_.history)}
    return met.answered_afterwards(model, probs, {"recover": recovering, "answer": answering}) | {"losses": kept}


def thinned(history: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Every fifth epoch, counted from 1, and each of its losses to four figures; the validation score is no loss."""
    shown = range(0, len(history), EVERY)
    names = [name for name in history[0] if name != "val"] if history else []
    losses = {name: [float(f"{history[epoch][name]:.4g}") for epoch in shown] for name in names}
    return {"epochs": [float(epoch + 1) for epoch in shown], **losses}
