"""What flipping one feature of one node means: on the matrix as the model sees it, or on the words behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from gvdn.errors import InvalidInput
from gvdn.graph import Features, Positions
from gvdn.perturbations.linearised import Row
from gvdn.registry import Registry


class Flip(NamedTuple):
    """`row(x, j)` is x with entry j flipped; `changes(x, W, columns)` is row(x, j) W - x W for every column j."""

    row: Callable[[Row, int], Row]
    changes: Callable[[Row, np.ndarray, Positions], np.ndarray]


FLIPS: Registry[Callable[[Features], Flip]] = Registry("way to flip features")
"""A way to flip, for the features of a graph; those that it makes no sense for are refused."""


@FLIPS.register("as-seen")
def as_seen(features: Features) -> Flip:
    """x -> 1 - x on the very values that the model sees, row-normalised or not."""
    low, high = _range(features)
    if low < 0 or high > 1:
        strange = low if low < 0 else high
        raise InvalidInput(
            f"expected features between 0 and 1 to flip, got {strange:g}; make them binary or set feature_flips=0"
        )
    return AS_SEEN


@FLIPS.register("binary")
def binary(features: Features) -> Flip:
    """A word comes or goes, and where rows were divided by their number of words they are divided by the new one."""
    sparse = sp.csr_array(features)
    counts = np.repeat(np.diff(sparse.indptr), np.diff(sparse.indptr))
    if (sparse.data == 1).all():
        return AS_SEEN
    strange = np.flatnonzero(~np.isclose(sparse.data * counts, 1, atol=1e-4))
    if strange.size:
        node = np.searchsorted(sparse.indptr, strange[0], side="right") - 1
        raise InvalidInput(
            f"expected binary features, plain or row-normalised, to flip words, got {sparse.data[strange[0]]:g} "
            f"on node {node}; make them binary or flip them as-seen"
        )
    return WORDS


def _seen_row(x: Row, column: int) -> Row:
    flipped = x.copy()
    flipped[column] = 1 - flipped[column]
    return flipped


def _seen_changes(x: Row, W: Float64[np.ndarray, "d K"], columns: Positions) -> Float64[np.ndarray, "m K"]:
    change = (1 - x[columns]).astype(np.float64) - x[columns]
    return change[:, None] * W[columns]


def _word_row(x: Row, column: int) -> Row:
    words = x != 0
    words[column] ^= True
    return (words * _scale(words.sum())).astype(np.float32)


def _word_changes(x: Row, W: Float64[np.ndarray, "d K"], columns: Positions) -> Float64[np.ndarray, "m K"]:
    words = x != 0
    fewer, now, more = (_scale(words.sum() + step) for step in (-1, 0, 1))
    change, scale = np.where(words[columns], -1.0, 1.0), np.where(words[columns], fewer, more)
    total = W[words].sum(axis=0)
    return scale[:, None] * (total + change[:, None] * W[columns]) - now * total


def _scale(number: np.integer) -> float:
    """What one of so many words counts in a normalised row, rounded as it is stored."""
    return float(np.float32(1 / number)) if number else 0.0


def _range(features: Features) -> tuple[float, float]:
    values = features if isinstance(features, np.ndarray) else features.data
    return float(values.min(initial=0)), float(values.max(initial=0))


AS_SEEN = Flip(_seen_row, _seen_changes)
WORDS = Flip(_word_row, _word_changes)
