"""The leading eigenvectors of a symmetric matrix that changes a little at a time, and the nuclear norm's step."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.nn.sparse import PIECE, SparseMatrix


def leading_eigenpairs(
    S: SparseMatrix, start: Float[Tensor, "n r"], steps: int
) -> tuple[Float[Tensor, " r"], Float[Tensor, "n r"]]:
    """Eigenvalues largest in magnitude and their vectors, by subspace iteration from `start` and Rayleigh-Ritz.

    A start that spans the whole space gives all of them exactly; the last result serves as the next start.
    """
    Q = torch.linalg.qr(start).Q
    for _ in range(steps):
        Q = torch.linalg.qr(S @ Q).Q
    values, rotation = torch.linalg.eigh((Q.T @ (S @ Q)).double().cpu())  # r x r; a GPU's solver may not converge
    return values.to(Q), Q @ rotation.to(Q)


def nuclear_step(
    values: Float[Tensor, " r"], vectors: Float[Tensor, "n r"], edges: Int64[Tensor, "m 2"], threshold: float
) -> Float[Tensor, " m"]:
    """What soft-thresholding the singular values by `threshold` takes off each edge's weight.

    The proximal map of t |S|_* is U (|values| - t)_+ sign(values) U^T, so it takes off U min(|values|, t) sign(values)
    U^T; with r < n the smaller singular values are left as they are.
    """
    taken = values.sign() * values.abs().clamp(max=threshold)
    pieces = [((vectors[u] * taken) * vectors[v]).sum(dim=1) for u, v in (part.T for part in edges.split(PIECE))]
    return torch.cat(pieces) if pieces else vectors.new_zeros(0)
