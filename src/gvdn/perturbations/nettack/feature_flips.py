"""How one feature of one node is flipped: in the matrix the model sees, or as a word of a bag of words."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from gvdn.errors import InvalidInput
from gvdn.graph import Features, Positions
from gvdn.perturbations.nettack.linearised import Row
from gvdn.registry import Registry


class Flip(NamedTuple):
    """`row(x, j)` is x with entry j flipped; `changes(x, W, columns)` is row(x, j) W - x W for every column j."""

    row: Callable[[Row, int], Row]
    changes: Callable[[Row, np.ndarray, Positions], np.ndarray]


FLIPS: Registry[Callable[[Features], Flip]] = Registry("way to flip features")
"""Ways to flip by name; each takes the features of a graph and refuses those it is not defined for."""
LINKS_ONLY = "give feature_flips=0 to flip links only, or use prbcd, which changes no feature"


@FLIPS.register("as-seen")
def as_seen(features: Features) -> Flip:
    """x -> 1 - x on the values that the model sees, row-normalised or not."""
    values = features if isinstance(features, np.ndarray) else features.data
    low, high = values.min(initial=0), values.max(initial=0)
    if low < 0 or high > 1:
        got = f"{low if low < 0 else high:g}; {LINKS_ONLY}"
        raise InvalidInput(f"expected features between 0 and 1 to flip, got {got}")
    return AS_SEEN


@FLIPS.register("binary")
def binary(features: Features) -> Flip:
    """A word is added or removed; rows that were divided by their number of words are divided by the new number."""
    sparse = sp.csr_array(features)
    counts = np.repeat(np.diff(sparse.indptr), np.diff(sparse.indptr))
    if (sparse.data == 1).all():
        return AS_SEEN
    other = np.flatnonzero(~np.isclose(sparse.data * counts, 1, atol=1e-4))
    if other.size:
        node = np.searchsorted(sparse.indptr, other[0], side="right") - 1
        got = f"{sparse.data[other[0]]:g} on node {node}; give flip=as-seen for values between 0 and 1, {LINKS_ONLY}"
        raise InvalidInput(f"expected binary features, plain or row-normalised, to flip words, got {got}")
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
    """The value of one of so many words in a normalised row, rounded as it is stored."""
    return float(np.float32(1 / number)) if number else 0.0


AS_SEEN = Flip(_seen_row, _seen_changes)
WORDS = Flip(_word_row, _word_changes)
