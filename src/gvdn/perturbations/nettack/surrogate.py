"""The surrogate of an attack: the weights of a linearised two-layer GCN."""

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64

from gvdn.errors import InvalidInput
from gvdn.graph import Graph

TRY = "give surrogate=(W1, W2), the two weight matrices of a linearised GCN"


@runtime_checkable
class Surrogate(Protocol):
    """A two-layer GCN without its non-linearity: logits = Â² X W (Zügner et al. 2018, section 5)."""

    @property
    def W(self) -> np.ndarray:
        """W = W_1 W_2, one row per feature and one column per class."""


@dataclass(frozen=True, eq=False)
class LinearSurrogate:
    """A surrogate that consists of W alone."""

    W: Float[np.ndarray, "d K"]


def weights_of(surrogate: object, graph: Graph) -> Float64[np.ndarray, "d K"]:
    """W in double precision, of a surrogate or of two matrices; its shape is checked against the graph."""
    W = _product(surrogate)
    classes = graph.num_classes or W.shape[1]
    if W.shape != (graph.num_features, classes):
        raise InvalidInput(
            f"expected surrogate weights of {graph.num_features} features x {classes} classes for {graph.name}, "
            f"got {W.shape[0]} x {W.shape[1]}; train the surrogate on this graph"
        )
    if classes < 2:
        raise InvalidInput(f"expected a surrogate of at least two classes, got {classes}; there is nothing to confuse")
    if not np.isfinite(W).all():
        raise InvalidInput("expected finite surrogate weights, got NaN or infinity; train the surrogate again")
    return W


def weights_hash(W: Float64[np.ndarray, "d K"]) -> str:
    """sha256 of shape and content, which the receipt records."""
    return hashlib.sha256(repr(W.shape).encode() + W.astype("<f8").tobytes()).hexdigest()


def _product(surrogate: object) -> Float64[np.ndarray, "d K"]:
    if isinstance(surrogate, Surrogate):
        return _matrix(surrogate.W)
    if isinstance(surrogate, tuple | list) and len(surrogate) == 2:
        W_1, W_2 = map(_matrix, surrogate)
        if W_1.shape[1] != W_2.shape[0]:
            raise InvalidInput(f"expected two weight matrices to multiply, got {W_1.shape} and {W_2.shape}; {TRY}")
        return W_1 @ W_2
    raise InvalidInput(f"expected a surrogate for nettack, got {_kind(surrogate)}; {TRY}")


def _matrix(weights: Any) -> Float64[np.ndarray, "rows columns"]:
    try:
        matrix = np.array(weights, dtype=np.float64, order="C")
    except (TypeError, ValueError, RuntimeError) as problem:
        raise InvalidInput(f"expected weights as a matrix of numbers, got {_kind(weights)}; {TRY}") from problem
    if matrix.ndim != 2:
        raise InvalidInput(f"expected weights as a matrix, got an array of shape {matrix.shape}; {TRY}")
    return matrix


def _kind(thing: object) -> str:
    return "none" if thing is None else type(thing).__name__
