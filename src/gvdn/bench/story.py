"""The whole story on one graph: train, perturb three ways, recover, and look at the embeddings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from gvdn.data import load_graph
from gvdn.experiments.maps import plane, shown_nodes
from gvdn.experiments.record import Line, Story
from gvdn.graph import Graph, random_split
from gvdn.methods.gvdn import GVDN
from gvdn.metrics import accuracy
from gvdn.perturbations import Perturbed, perturb
from gvdn.seeds import generator
from gvdn.training.loop import Callback

ProgressBar = Callable[[str, int], AbstractContextManager[Callback | None]]

PERTURBATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "random connections": ("random-connections", {}),
    "sparsity, links only": ("information-sparsity", {"variant": "links-only"}),
    "sparsity, literal": ("information-sparsity", {"variant": "literal"}),
}


def tell(name: str, *, seed: int, progress: ProgressBar, quick: bool = False) -> Story:
    """Train on the clean graph, then each perturbation with its recovery, then the maps of the first of them."""
    graph = load_graph(name)
    split = random_split(graph, seed=seed)
    model = GVDN.preset(name)
    if quick:
        model.set_params(epochs=10, recovery_epochs=10)
    with progress(f"training on {name}", model.epochs) as callback:
        model.fit(graph, split, seed=seed, callback=callback)
    lines: list[Line] = []
    recovered: dict[str, GVDN] = {}
    for title, (kind, settings) in PERTURBATIONS.items():
        attack = perturb(graph, kind, split, seed=seed, **settings)
        with progress(f"recovering from {title}", model.recovery_epochs) as callback:
            recovered[title] = model.recover(attack.graph, callback=callback)
        unseen = None
        if kind == "random-connections":
            with progress("recovering with half of the victims hidden", model.recovery_epochs) as callback:
                unseen = _unseen_accuracy(model, attack, graph, seed, callback)
        lines.append(_line(title, model, recovered[title], graph, attack, unseen))
    first, (kind, settings) = next(iter(PERTURBATIONS.items()))
    attack = perturb(graph, kind, split, seed=seed, **settings)
    hit = np.concatenate([attack.victims, attack.perturbators])
    shown = shown_nodes(attack.victims, np.setdiff1d(split.test, hit), seed, others=3)
    return Story(
        graph=name,
        facts={
            "nodes": f"{graph.num_nodes:,}",
            "edges": f"{graph.num_edges:,}",
            "features": f"{graph.num_features:,}",
            "classes": str(graph.num_classes),
            "trained on": f"{len(split.train):,} nodes",
            "seed": str(seed),
        },
        lines=lines,
        histories={"training": model.outcome_.history, "recovery": recovered[first].outcome_.history},
        maps={
            "clean": plane(model.embed(graph)[shown], seed),
            "perturbed": plane(model.embed(attack.graph)[shown], seed),
            "recovered": plane(recovered[first].embed(attack.graph)[shown], seed),
        },
        labels=graph.labels[shown],
        class_names=graph.class_names,
    )


def _line(title: str, model: GVDN, recovered: GVDN, graph: Graph, attack: Perturbed, unseen: float | None) -> Line:
    victims = attack.victims
    truth = graph.labels[victims]
    clean = accuracy(model.predict_proba(graph)[victims], truth)
    return Line(
        perturbation=title,
        victims=len(victims),
        clean=clean,
        perturbed=accuracy(model.predict_proba(attack.graph)[victims], truth),
        recovered=accuracy(recovered.predict_proba(attack.graph)[victims], truth),
        unseen=unseen,
        snapshot=clean,  # by definition: the clean prediction, returned
    )


def _unseen_accuracy(model: GVDN, attack: Perturbed, graph: Graph, seed: int, callback: Callback | None) -> float:
    """Accuracy on a random half of the victims whose stored embedding recovery was not given."""
    shuffled = generator(seed, "unseen", graph.name).permutation(attack.victims)
    hidden = shuffled[: len(shuffled) // 2]
    recovered = model.recover(attack.graph, known=np.delete(graph.ids, hidden), callback=callback)
    return accuracy(recovered.predict_proba(attack.graph)[hidden], graph.labels[hidden])
