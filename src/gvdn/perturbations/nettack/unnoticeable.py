"""Constraints (Zügner et al. 2018, section 4.1): degrees follow their power law, new words co-occur with old ones."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64, Int64

from gvdn.graph import Graph

D_MIN = 2
TAU = 0.004
"""Λ of two equal power laws is chi-squared with one degree of freedom; it is below 0.004 in one case of twenty."""


class DegreeTest:
    """Likelihood-ratio test that two degree sequences are drawn from one power law, the clean graph's being the first.

    Λ = -2 l(D ∪ D') + 2 (l(D) + l(D')) < τ, where l is the likelihood of the degrees from d_min up; it needs of
    them only their number and the sum of their logarithms, and a flipped link changes two terms of each.
    """

    def __init__(self, clean: Int64[np.ndarray, " n"]) -> None:
        self.count, self.logs = (part.sum(keepdims=True) for part in _tail(clean))

    def admits(
        self, degrees: Int64[np.ndarray, " n"], end: int, steps: Int64[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Whether the degrees would still pass after each node's link to `end` were made (+1) or cut (-1)."""
        now, there, here = (_tail(changed) for changed in (degrees, degrees + steps, degrees[end] + steps))
        count, logs = (
            before.sum() + other - before + own - before[end]
            for before, other, own in zip(now, there, here, strict=True)
        )
        return self.ratio(count, logs) < TAU

    def ratio(self, count: Float64[np.ndarray, " n"], logs: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Λ of the clean degrees and others, given by their number and the sum of their logarithms."""
        both = log_likelihood(self.count + count, self.logs + logs)
        return -2 * both + 2 * (log_likelihood(self.count, self.logs) + log_likelihood(count, logs))


def log_likelihood(count: Float64[np.ndarray, " n"], logs: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """l(D) = |D| log α + |D| α log d_min + (α + 1) Σ log d, where α = 1 + |D| / Σ log (d / (d_min - 1/2)).

    The last sign is the printed one, and that of the published code. A power law has a minus there; with it, Λ would be
    less than half on citation graphs, and the test that much weaker.
    """
    excess = logs - count * np.log(D_MIN - 0.5)
    alpha = 1 + np.divide(count, excess, out=np.zeros_like(excess), where=count > 0)
    return count * np.log(alpha) + count * alpha * np.log(D_MIN) + (alpha + 1) * logs


class Cooccurrence:
    """Words may be added to a node if a random walk on the co-occurrence graph reaches them from the node's own words.

    C links words that occur together on some node of the clean graph. From a random word j in S_u, the walk goes
    to a random neighbour of j: p(i | S_u) = 1/|S_u| Σ_{j in S_u} C_ij / d_j must exceed half of its largest
    possible value, 1/|S_u| Σ_{j in S_u} 1 / d_j (section 4.1). Removing words is always allowed.
    """

    def __init__(self, graph: Graph) -> None:
        given = sp.csr_array(graph.features)
        self.present = sp.csr_array((np.ones(given.nnz, dtype=np.float32), given.indices, given.indptr), given.shape)
        self.together = sp.csr_array(self.present.T @ self.present)
        self.together.data[:] = 1
        degrees = np.diff(self.together.indptr) - 1  # every word that occurs co-occurs with itself
        self.share = np.divide(1.0, degrees, out=np.zeros(len(degrees)), where=degrees > 0)

    def admits(self, node: int) -> Bool[np.ndarray, " d"]:
        """Which entries of the node's clean row may be flipped: its own words, and words that co-occur with them."""
        words = self.present.indices[self.present.indptr[node] : self.present.indptr[node + 1]]
        allowed = self.share[words] @ self.together[words] > 0.5 * self.share[words].sum()
        allowed[words] = True
        return allowed


def _tail(degrees: Int64[np.ndarray, " n"]) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """For each degree whether it is in the tail from d_min on (0 or 1), and if so its logarithm."""
    inside = (degrees >= D_MIN).astype(np.float64)
    return inside, inside * np.log(np.maximum(degrees, 1))
