"""Feature rows: their norms, a digest of each, the cosine of pairs and the leading directions."""

import weakref
from collections.abc import Callable
from functools import wraps

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int64, UInt64

from gvdn.graph import Features
from gvdn.graph.checks import frozen
from gvdn.graph.csr import csr_parts

Pairs = Int64[np.ndarray, "_ 2"]
Probs = Float[np.ndarray, "n k"]

DIMENSIONS = 48
ITERATIONS = 4
PIECE = 1 << 14
"""Pairs whose rows are gathered at a time."""
BLOCK = 1 << 16
"""Rows of a large graph that are computed with at a time, so that what is needed in between stays small."""


CACHED = 1 << 18
"""Entries of dense rows that are computed with at a time where each is read once: what a processor's cache holds."""

OfRows = Callable[[Features], Float[np.ndarray, " n"]]


def in_blocks(of: Callable[[Features], np.ndarray], features: Features, block: int = BLOCK) -> np.ndarray:
    """A function of rows, one block of them after the other."""
    if features.shape[0] <= block:
        return of(features)
    return np.concatenate([of(features[start : start + block]) for start in range(0, features.shape[0], block)])


def once_per_matrix(of: OfRows) -> OfRows:
    """The function, whose result for a matrix that cannot be written to is computed once while that matrix exists."""
    known: dict[int, tuple[weakref.ref[Features], np.ndarray]] = {}

    @wraps(of)
    def found(features: Features) -> Float[np.ndarray, " n"]:
        entries: np.ndarray = features.data if sp.issparse(features) else features  # type: ignore[assignment]
        if entries.flags.writeable:
            return of(features)
        key = id(features)
        before = known.get(key)
        if before is not None and before[0]() is features:
            return before[1]
        made = frozen(of(features))
        known[key] = weakref.ref(features, lambda _: known.pop(key, None)), made
        return made

    return found


@once_per_matrix
def l1_norms(features: Features) -> Float[np.ndarray, " n"]:
    """The L1 norm of each row."""
    return in_blocks(_l1_norms, features, _cached_rows(features))


@once_per_matrix
def l2_norms(features: Features) -> Float[np.ndarray, " n"]:
    """The Euclidean norm of each row."""
    return in_blocks(_l2_norms, features, _cached_rows(features))


def _cached_rows(features: Features) -> int:
    return BLOCK if sp.issparse(features) else max(CACHED // max(features.shape[1], 1), 1)


def _l1_norms(features: Features) -> Float[np.ndarray, " n"]:
    return np.asarray(abs(features).sum(axis=1), dtype=np.float64).ravel()


def _l2_norms(features: Features) -> Float[np.ndarray, " n"]:
    if isinstance(features, np.ndarray):
        return np.sqrt(np.square(features, dtype=np.float64).sum(axis=1))
    squares = features.multiply(features)
    return np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())


def scaled_rows(features: Features, scale: Float[np.ndarray, " n"]) -> Features:
    """Each row times its factor."""
    factor = scale.astype(np.float32)
    if isinstance(features, np.ndarray):
        return features * factor[:, None]
    values = features.data * np.repeat(factor, np.diff(features.indptr))
    return sp.csr_array((values, features.indices, features.indptr), shape=features.shape)


def digests(features: Features) -> UInt64[np.ndarray, " n"]:
    """64 bits of each row: equal rows have equal digests, whether they are stored dense or sparse.

    The sum, modulo 2^64, of a mixed value (Steele et al., SplitMix64, OOPSLA 2014) of each non-zero entry.
    """
    return in_blocks(_digests, features)


def _digests(features: Features) -> UInt64[np.ndarray, " n"]:
    if sp.issparse(features):
        features = sp.csr_array(features, copy=True)
        features.sum_duplicates()
        features.eliminate_zeros()
    starts, columns, values = csr_parts(features)
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    mixed = _mixed((columns.astype(np.uint64) << np.uint64(32)) ^ bits)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return sums[starts[1:]] - sums[starts[:-1]]


def cosines(features: Features, pairs: Pairs) -> Float[np.ndarray, " m"]:
    """The cosine of the two rows of each pair; 0 where one of them is zero."""
    norms = l2_norms(features)
    found = np.zeros(len(pairs))
    for start in range(0, len(pairs), PIECE):
        left, right = pairs[start : start + PIECE].T
        a, b = features[left], features[right]
        dots = a.multiply(b).sum(axis=1) if sp.issparse(a) else np.einsum("ij,ij->i", a, b, dtype=np.float64)
        length = norms[left] * norms[right]
        found[start : start + PIECE] = np.asarray(dots).ravel() / np.where(length > 0, length, 1)
    return found


def log_normalised(logs: Float[np.ndarray, "*s k"]) -> Float[np.ndarray, "*s k"]:
    """Log-probabilities from logits."""
    shifted = logs - logs.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def directions(features: Features, rng: np.random.Generator) -> Float[np.ndarray, "d b"]:
    """The leading directions of the rows divided by their length, by subspace iteration."""
    rows, width = _unit(features), min(DIMENSIONS, *features.shape)
    found = rng.standard_normal((features.shape[1], width)).astype(np.float32)
    for _ in range(ITERATIONS):
        found, _ = np.linalg.qr(np.asarray(rows.T @ np.asarray(rows @ found)))
    return np.concatenate([found, np.zeros((features.shape[1], DIMENSIONS - width), np.float32)], axis=1)


def projected(features: Features, basis: Float[np.ndarray, "d b"]) -> Float[np.ndarray, "n b"]:
    """The rows divided by their length, in the basis."""
    single = basis.astype(np.float32)
    return in_blocks(lambda rows: np.asarray(_unit(rows) @ single), features)


def _unit(features: Features) -> Features:
    return scaled_rows(features, 1 / np.maximum(l2_norms(features), 1e-12))


def _mixed(x: UInt64[np.ndarray, " e"]) -> UInt64[np.ndarray, " e"]:
    x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
