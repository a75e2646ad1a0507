"""Embeddings in the plane: before, under and after a perturbation, or while a model recovers."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64

from gvdn.bench.experiment import Experiment, Fields
from gvdn.graph import Positions
from gvdn.methods.gvdn.recovery import Inferred
from gvdn.metrics import class_separation
from gvdn.seeds import generator


class State(NamedTuple):
    """Every node's embedding at some moment, and the class that is predicted then."""

    H_emb: Float[np.ndarray, "n h"]
    predicted: Int64[np.ndarray, " n"]


def mapped(experiment: Experiment) -> Fields:
    """Recovered, with maps of the clean, the perturbed and the recovered embedding."""
    fitted = experiment.fit(experiment.clean).model
    model, probs, fields = experiment.recovery
    states = {
        "clean": State(fitted.embed(experiment.clean), fitted.predict(experiment.clean)),
        "perturbed": State(fitted.embed(experiment.perturbed), fitted.predict(experiment.perturbed)),
        "recovered": State(model.embed(experiment.perturbed), probs.argmax(axis=1)),
    }
    return fields | _drawn(experiment, states)


def mapped_by_epoch(experiment: Experiment) -> Fields:
    """The same on the perturbed graph alone: at the end of the fit, after each third of the recovery."""
    fitted, graph = experiment.fit(experiment.clean).model, experiment.perturbed
    thirds = [round(fitted.recovery_epochs * part / 3) for part in (1, 2)]
    states = {f"epoch {fitted.epochs}": State(fitted.embed(graph), fitted.predict(graph))}

    def look(epoch: int, inferred: Inferred) -> None:
        if epoch in thirds:
            H_emb, logits = inferred()
            states[f"epoch {fitted.epochs + epoch}"] = State(H_emb, logits.argmax(axis=1))

    model, probs, fields = experiment.recover(experiment.clean, look=look)
    states[f"epoch {fitted.epochs + fitted.recovery_epochs}"] = State(model.embed(graph), probs.argmax(axis=1))
    return fields | _drawn(experiment, states)


def _drawn(experiment: Experiment, states: Mapping[str, State]) -> Fields:
    """All states in one map, so that a node can be followed, and how far the victims' classes separate in each."""
    clean, victims, seed = experiment.clean, experiment.scored, experiment.cell.seed
    shown = shown_nodes(victims, experiment.split.test, seed)
    points = plane(np.concatenate([state.H_emb[shown] for state in states.values()]), seed)
    maps = np.split(points, len(states))
    return {
        "map": {
            "ids": clean.ids[shown].tolist(),
            "classes": clean.labels[shown].tolist(),
            "victims": np.isin(shown, victims).astype(int).tolist(),
            "class_names": list(clean.class_names),
            "states": {
                name: {"xy": np.round(xy.astype(float), 2).tolist(), "answers": state.predicted[shown].tolist()}
                for (name, state), xy in zip(states.items(), maps, strict=True)
            },
        },
        "separation": {
            name: round(class_separation(state.H_emb[victims], clean.labels[victims]), 5)
            for name, state in states.items()
        },
    }


def shown_nodes(victims: Positions, test: Positions, seed: int) -> Positions:
    """The victims and as many other test nodes: enough to see classes, few enough for t-SNE."""
    others = generator(seed, "map").permutation(np.setdiff1d(test, victims))[: len(victims)]
    return np.sort(np.concatenate([victims, others]))


def plane(embeddings: Float[np.ndarray, "n h"], seed: int) -> Float[np.ndarray, "n 2"]:
    """t-SNE (van der Maaten and Hinton 2008)."""
    from sklearn.manifold import TSNE

    points: np.ndarray = TSNE(init="pca", perplexity=30, random_state=seed, max_iter=500).fit_transform(embeddings)
    return points
