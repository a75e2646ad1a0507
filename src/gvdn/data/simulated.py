"""Simulated features for a graph whose structure and labels are real."""

import dataclasses

import numpy as np

from gvdn.graph import Graph
from gvdn.seeds import generator

FEATURES = 500
SIGNAL = 0.12
"""Scale of the class means, in units of the noise. Chosen so that the task is about as hard as the published one with
the same structure (accuracies near one half), not tuned to any method."""


def with_simulated_features(graph: Graph, name: str) -> Graph:
    """The same structure and labels with class-dependent Gaussian features, drawn by the dataset's name."""
    rng = generator(0, "simulated-features", name)
    means = rng.normal(scale=SIGNAL, size=(graph.num_classes, FEATURES)).astype(np.float32)
    noise = rng.standard_normal((graph.num_nodes, FEATURES), dtype=np.float32)
    return dataclasses.replace(graph, features=means[graph.labels] + noise, feature_names=())
