"""Label noise: a share of the training labels is wrong."""

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations.family import Plan, perturbation, share
from gvdn.perturbations.receipt import Changes
from gvdn.seeds import generator


@perturbation("label-noise", candidates_from="train")
def label_noise(graph: Graph, candidates: Positions, *, seed: int, ratio: float = 0.2) -> Plan:
    """A share of the training labels is replaced by another class, chosen uniformly."""
    if graph.num_classes < 2:
        raise InvalidInput(f"expected at least two classes to confuse, got {graph.num_classes} in {graph.name}")
    rng = generator(seed, "perturb", "label-noise", graph.name)
    labelled = candidates[graph.labels[candidates] != UNLABELLED]
    victims = np.sort(rng.permutation(labelled)[: share(len(labelled), ratio, "ratio")])
    # A shift by 1..K-1 modulo K reaches every other class with the same probability, and never the old one.
    shift = rng.integers(1, graph.num_classes, size=len(victims))
    noisy = (graph.labels[victims] + shift) % graph.num_classes
    return Plan(Changes(label_rows=victims, label_values=noisy), victims)
