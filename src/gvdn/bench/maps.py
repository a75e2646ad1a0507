"""Embeddings in the plane: before, under and after a perturbation, or while a model recovers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64

from gvdn.experiments.encounter import Encounter
from gvdn.experiments.runs import Record
from gvdn.graph import Positions
from gvdn.methods.recovery import Inferred
from gvdn.metrics import class_separation
from gvdn.seeds import generator


class State(NamedTuple):
    """Every node's embedding at some moment, and the class it is given then."""

    H_emb: Float[np.ndarray, "n h"]
    answers: Int64[np.ndarray, " n"]


def mapped(met: Encounter) -> Record:
    """Recovery as usual, with maps of the clean, the perturbed and the recovered embedding."""
    fitted = met.fit.model
    model, probs, found = met.recovered()
    states = {
        "clean": State(fitted.embed(met.clean), fitted.predict(met.clean)),
        "perturbed": State(fitted.embed(met.perturbed), fitted.predict(met.perturbed)),
        "recovered": State(model.embed(met.perturbed), probs.argmax(axis=1)),
    }
    return found | _drawn(met, states)


def mapped_on_the_way(met: Encounter) -> Record:
    """The same on the perturbed graph alone: at the end of the fit, after each third of the recovery."""
    fitted = met.fit.model
    thirds = [round(fitted.recovery_epochs * part / 3) for part in (1, 2)]
    states = {f"epoch {fitted.epochs}": State(fitted.embed(met.perturbed), fitted.predict(met.perturbed))}

    def look(epoch: int, inferred: Inferred) -> None:
        if epoch in thirds:
            H_emb, logits = inferred()
            states[f"epoch {fitted.epochs + epoch}"] = State(H_emb, logits.argmax(axis=1))

    model, probs, found = met.recovered(look=look)
    states[f"epoch {fitted.epochs + fitted.recovery_epochs}"] = State(model.embed(met.perturbed), probs.argmax(axis=1))
    return found | _drawn(met, states)


def _drawn(met: Encounter, states: Mapping[str, State]) -> Record:
    """All states in one map, so that a node can be followed, and how far the victims' classes stand apart in each."""
    shown = shown_nodes(met.scored, met.split.test, met.cell.seed, others=1)
    points = plane(np.concatenate([state.H_emb[shown] for state in states.values()]), met.cell.seed)
    maps = np.split(points, len(states))
    labels = met.clean.labels
    return {
        "map": {
            "ids": met.clean.ids[shown].tolist(),
            "classes": labels[shown].tolist(),
            "victims": np.isin(shown, met.scored).astype(int).tolist(),
            "class_names": list(met.clean.class_names),
            "states": {
                name: {"xy": np.round(xy.astype(float), 2).tolist(), "answers": state.answers[shown].tolist()}
                for (name, state), xy in zip(states.items(), maps, strict=True)
            },
        },
        "separation": {
            name: round(class_separation(state.H_emb[met.scored], labels[met.scored]), 5)
            for name, state in states.items()
        },
    }


def shown_nodes(victims: Positions, test: Positions, seed: int, *, others: int) -> Positions:
    """The victims and so many times as many other test nodes: enough to see classes, few enough for t-SNE."""
    rest = np.setdiff1d(test, victims)
    some = generator(seed, "map").permutation(rest)[: others * len(victims)]
    return np.sort(np.concatenate([victims, some]))


def plane(embeddings: Float[np.ndarray, "n h"], seed: int) -> Float[np.ndarray, "n 2"]:
    """t-SNE (van der Maaten and Hinton 2008)."""
    from sklearn.manifold import TSNE

    points: np.ndarray = TSNE(init="pca", perplexity=30, random_state=seed, max_iter=500).fit_transform(embeddings)
    return points
