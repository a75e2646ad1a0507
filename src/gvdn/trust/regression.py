"""The two small models that are fitted: log-odds of a yes-or-no question, and the blend of several answers."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Generator, Tensor

HIDDEN = 12
STEPS, RATE, RIDGE = 150, 4e-2, 1e-4
MOST = 8000
"""Cases that a model is fitted on at most."""
BLEND_STEPS, BLEND_RATE, BLEND_RIDGE = 200, 4e-2, 2e-2
NEWTON, TINY = 25, 1e-6
ROUNDING = 1e-5
"""Numbers that vary by less, beside 1 or their mean, do not vary: the rest is what single precision leaves."""
LARGEST = 3.0
"""The weight of a witness is within a factor of e^3 of that of equal trust."""

Numbers = Float[np.ndarray, "sides m d"]
"""What is known of each case, seen from each of its sides: a link has two, a row one."""


@dataclass(frozen=True, eq=False)
class Regression:
    """log P(yes) / P(no) = the mean over the sides of w . z + v . tanh(W z + b) + c, where z is (x - mean) / spread."""

    mean: Float[np.ndarray, " d"]
    spread: Float[np.ndarray, " d"]
    W: Float[np.ndarray, "d h"]
    b: Float[np.ndarray, " h"]
    v: Float[np.ndarray, " h"]
    w: Float[np.ndarray, " d"]
    c: float

    def log_odds(self, numbers: Numbers) -> Float[np.ndarray, " m"]:
        z = (numbers - self.mean) / self.spread
        return (z @ self.w + np.tanh(z @ self.W + self.b) @ self.v + self.c).mean(axis=0)

    def flat(self) -> Float[np.ndarray, " p"]:
        """Everything in one row, for a file."""
        parts = (self.mean, self.spread, self.W.ravel(), self.b, self.v, self.w, [self.c])
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])

    @classmethod
    def from_flat(cls, flat: Float[np.ndarray, " p"], d: int) -> "Regression":
        mean, spread, W, b, v, w, c = np.split(flat, np.cumsum([d, d, d * HIDDEN, HIDDEN, HIDDEN, d]))
        return cls(mean, spread, W.reshape(d, HIDDEN), b, v, w, float(c[0]))


def flat_size(d: int) -> int:
    """How many numbers a regression on d numbers has."""
    return d * (HIDDEN + 3) + 2 * HIDDEN + 1


def fit_regression(
    numbers: Numbers, truth: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"], rng: Generator
) -> Regression:
    """The regression that minimises the weighted cross entropy, by Adam, on some of the cases where there are many."""
    if len(truth) > MOST:
        some = torch.randperm(len(truth), generator=rng)[:MOST].numpy()
        numbers, truth, weight = numbers[:, some], truth[some], weight[some]
    d = numbers.shape[2]
    mean, spread = _location_and_spread(numbers.reshape(-1, d))
    z = torch.from_numpy(((numbers - mean) / spread).reshape(-1, d).astype(np.float32))
    y, weights = (torch.from_numpy(np.asarray(part, dtype=np.float32)) for part in (truth, weight))
    weights = weights / weights.mean().clamp(min=1e-9)
    W = torch.randn(d, HIDDEN, generator=rng) / d**0.5
    v = torch.randn(HIDDEN, generator=rng) * 0.1
    M = torch.zeros(HIDDEN + 1, d + 1)
    M[:HIDDEN, :d] = W.T
    if len(truth):
        _descend(M, v, torch.cat([z, torch.ones(len(z), 1)], dim=1), y, weights)
    found = M.double().numpy()
    inner, linear = found[:-1], found[-1]
    return Regression(
        mean, spread, inner[:, :-1].T.copy(), inner[:, -1], v.double().numpy(), linear[:-1], float(linear[-1])
    )


def _location_and_spread(numbers: Float[np.ndarray, "m d"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of each number; 1 in place of that of one that does not vary."""
    if not len(numbers):
        return np.zeros(numbers.shape[1]), np.ones(numbers.shape[1])
    mean, spread = numbers.mean(axis=0), numbers.std(axis=0)
    return mean, np.where(spread > ROUNDING * np.maximum(abs(mean), 1), spread + TINY, 1)


def _descend(M: Tensor, v: Tensor, Z: Tensor, y: Tensor, weights: Tensor) -> None:
    """Minimise the weighted cross entropy and the ridge in M and v, in place, by Adam.

    The gradient is written out, which takes two thirds of the time of automatic differentiation.

    Args:
        M: (W b; w c), so that M Z^T has what enters tanh in its first rows and what is linear in the last.
        Z: the numbers of each case and a one, all cases of the first side first.
        y, weights: of each case.
    """
    m, sides = len(y), len(Z) // len(y)
    optimizer = torch.optim.Adam([M, v], lr=RATE, fused=True)
    for _ in range(STEPS):
        P = M @ Z.T
        T = torch.tanh(P[:-1])
        logits = torch.addmv(P[-1], T.T, v).view(sides, m).mean(dim=0)
        error = (weights * (torch.sigmoid(logits) - y) / len(Z)).repeat(sides)
        v.grad = T @ error + 2 * RIDGE * v
        P[-1] = error
        torch.mul((1 - T.square()).mul_(error), v[:, None], out=P[:-1])
        M.grad = P @ Z + 2 * RIDGE * M
        optimizer.step()


def fit_logistic(numbers: Float[np.ndarray, "m d"], truth: Float[np.ndarray, " m"]) -> Float[np.ndarray, " g"]:
    """The weights of a plain logistic regression, the intercept first, by Newton's method; a ridge of 1 on the rest."""
    X = np.concatenate([np.ones((len(numbers), 1)), numbers], axis=1)
    ridge, beta = np.diag([TINY, *np.ones(numbers.shape[1])]), np.zeros(X.shape[1])
    for _ in range(NEWTON):
        probs = sigmoid(X @ beta)
        curvature = (X * np.maximum(probs * (1 - probs), TINY)[:, None]).T @ X + ridge
        beta = beta + np.linalg.solve(curvature, X.T @ (truth - probs) - ridge @ beta)
    return beta


def sigmoid(x: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))


@dataclass(frozen=True, eq=False)
class Blend:
    """P(class) is proportional to the product over witnesses of p_i(class)^alpha_i, alpha_i = t exp(a_i . z).

    z is what is known of the node, (f - mean) / spread, and a one; a_i = 0 is equal trust in all witnesses.

    Attributes:
        A: a_i, one column per witness.
        t: the temperature that all share.
    """

    mean: Float[np.ndarray, " f"]
    spread: Float[np.ndarray, " f"]
    A: Float[np.ndarray, "g w"]
    t: float

    def alpha(self, known: Float[np.ndarray, "m f"]) -> Float[np.ndarray, "m w"]:
        """The weight of each witness of each node."""
        z = np.concatenate([np.ones((len(known), 1)), (known - self.mean) / self.spread], axis=1)
        return self.t * np.exp(np.clip(z @ self.A, -LARGEST, LARGEST))

    def log_probs(self, logs: Float[np.ndarray, "m w k"], known: Float[np.ndarray, "m f"]) -> Float[np.ndarray, "m k"]:
        """Not normalised: log of the product."""
        return np.einsum("mw,mwk->mk", self.alpha(known), logs)


def fit_blend(
    logs: Float[np.ndarray, "m w k"],
    known: Float[np.ndarray, "m f"],
    classes: Int64[np.ndarray, " m"],
    weight: Float[np.ndarray, " m"],
) -> Blend:
    """The blend that minimises the cross entropy of these classes, shrunk towards equal trust."""
    mean, spread = _location_and_spread(known)
    z = torch.from_numpy(np.concatenate([np.ones((len(known), 1)), (known - mean) / spread], axis=1).astype(np.float32))
    said, y = torch.from_numpy(logs.astype(np.float32)), torch.from_numpy(classes)
    weights = torch.from_numpy(weight.astype(np.float32)) / max(float(weight.mean()), 1e-9) if len(weight) else z[:, 0]
    A, t = torch.zeros(z.shape[1], logs.shape[1]).requires_grad_(), torch.zeros(1).requires_grad_()
    optimizer = torch.optim.Adam([A, t], lr=BLEND_RATE, fused=True)
    for _ in range(BLEND_STEPS if len(known) else 0):
        optimizer.zero_grad()
        alpha: Tensor = torch.exp((z @ A).clamp(-LARGEST, LARGEST) + t)
        logits = (alpha[:, :, None] * said).sum(dim=1)
        loss = (weights * F.cross_entropy(logits, y, reduction="none")).mean() + BLEND_RIDGE * A.square().sum()
        loss.backward()
        optimizer.step()
    return Blend(mean, spread, A.detach().double().numpy(), float(t.detach().exp()))
