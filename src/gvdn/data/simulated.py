"""Features that are made up, for a structure that is real."""

from __future__ import annotations

import dataclasses

import numpy as np

from gvdn.graph import Graph
from gvdn.seeds import generator

FEATURES = 500
SIGNAL = 0.12
"""How far a class mean lies from the origin, per feature, in units of the noise. Chosen so that the task is about as
hard as the published Flickr task is (accuracies near one half), not tuned to any method."""


def with_simulated_features(graph: Graph) -> Graph:
    """The same structure and labels with class-dependent Gaussian features; its name keeps saying so."""
    rng = generator(0, "simulated-features", "flickr-structure")
    means = rng.normal(scale=SIGNAL, size=(graph.num_classes, FEATURES)).astype(np.float32)
    noise = rng.standard_normal((graph.num_nodes, FEATURES), dtype=np.float32)
    return dataclasses.replace(graph, features=means[graph.labels] + noise, feature_names=())
