"""The guard: feature rows of a larger norm than any of the clean graph, or than a graph's own rows, are scaled down."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from gvdn.graph import Features, Graph
from gvdn.graph.checks import derived_features
from gvdn.trust.rows import l1_norms, scaled_rows

ROUNDING = 1e-5
TIMES, SPREADS, GAP = 10.0, 2.0, 5.0
"""A row is outlying among others if its norm is above the upper quartile by so many times it and by so many times the
distance of the quartiles on a logarithmic scale, and beyond a gap: so many times the next smaller norm."""


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


def ordinary_norm(features: Features) -> float | None:
    """The largest L1 norm of a row that is not outlying among the rows themselves; None where no row is outlying.

    With q1 and q3 the quartiles of the norms above 0, the norms beyond the first gap above q3 max(10, (q3 / q1)^2) are
    outlying, where a gap is between two norms of which one is more than five times the other. Norms that vary by
    nature, even by orders of magnitude, have no such gap. Up to a quarter of the rows can be a poisoner's; one who
    raises norms in small steps is not found.
    """
    norms = np.sort(l1_norms(features))
    norms = norms[norms > 0]
    if not norms.size:
        return None
    low, high = np.quantile(norms, (0.25, 0.75))
    fence = high * max(TIMES, (high / low) ** SPREADS)
    beyond = np.flatnonzero((norms[1:] > fence) & (norms[1:] > GAP * norms[:-1]))
    return float(norms[beyond[0]]) if beyond.size else None


def outliers(graph: Graph, max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether the L1 norm of each feature row exceeds `max_norm`, by more than rounding."""
    return exceeds(l1_norms(graph.features), max_norm)


def exceeds(norms: Float[np.ndarray, " n"], max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether each norm is above the largest of the clean graph, by more than rounding."""
    return norms > max_norm * (1 + ROUNDING)
