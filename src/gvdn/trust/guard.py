"""The guard: feature rows of a larger norm than any of the clean graph, or than a graph's own rows, are scaled down."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from gvdn.graph import Features, Graph
from gvdn.trust.rows import l1_norms, scaled_rows

ROUNDING = 1e-5
TIMES, SPREADS = 10.0, 3.0
"""How far above the upper quartile of the norms a row is outlying: so many times it, and so many times the distance of
the two quartiles on a logarithmic scale."""


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
        return kept
    return scaled_rows(features, scale)


def ordinary_norm(features: Features) -> float | None:
    """The largest L1 norm of a row that is not outlying among the rows themselves; None where no row is outlying.

    A row is outlying whose norm exceeds q3 max(10, (q3 / q1)^3), where q1 and q3 are the quartiles of the norms above
    0: Tukey's outer fence (Exploratory data analysis, 1977) of their logarithms, and never below ten times q3. Up to
    a quarter of the rows can be a poisoner's without moving it past the others.
    """
    norms = l1_norms(features)
    above_zero = norms[norms > 0]
    if not above_zero.size:
        return None
    low, high = np.quantile(above_zero, (0.25, 0.75))
    fence = high * max(TIMES, (high / low) ** SPREADS)
    return float(norms[norms <= fence].max()) if norms.max() > fence else None


def outliers(graph: Graph, max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether the L1 norm of each feature row exceeds `max_norm`, by more than rounding."""
    return exceeds(l1_norms(graph.features), max_norm)


def exceeds(norms: Float[np.ndarray, " n"], max_norm: float) -> Bool[np.ndarray, " n"]:
    """Whether each norm is above the largest of the clean graph, by more than rounding."""
    return norms > max_norm * (1 + ROUNDING)
