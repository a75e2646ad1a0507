"""The guard: feature rows of a larger norm than any of the clean graph are scaled down."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from gvdn.graph import Features, Graph
from gvdn.graph.checks import derived_features
from gvdn.trust.rows import l1_norms, scaled_rows

ROUNDING = 1e-5


def guarded(graph: Graph, max_norm: float) -> Graph:
    """The graph in which a feature row whose L1 norm exceeds `max_norm` is scaled to the norm max_norm^2 / norm.

    The same graph if there is no such row.
    """
    features = guarded_rows(graph.features, max_norm)
    return graph if features is graph.features else dataclasses.replace(graph, features=features)


def guarded_rows(features: Features, max_norm: float) -> Features:
    """The same, for rows; the same rows if none is too long."""
    norms = l1_norms(features)
    above = np.flatnonzero(exceeds(norms, max_norm))
    if not above.size:
        return features
    scale = np.ones(len(norms))
    scale[above] = (max_norm / norms[above]) ** 2
    if isinstance(features, np.ndarray):
        kept = features.copy()
        kept[above] = scaled_rows(features[above], scale[above])
        return derived_features(kept)
    return derived_features(scaled_rows(features, scale))


def outliers(graph: Graph, max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether the L1 norm of each feature row exceeds `max_norm`, by more than rounding."""
    return exceeds(l1_norms(graph.features), max_norm)


def exceeds(norms: Float[np.ndarray, " n"], max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether each norm is above the largest of the clean graph, by more than rounding."""
    return norms > max_norm * (1 + ROUNDING)
