"""The four losses (Eq. 8 to 11). Each is a mean over nodes and, but for the first, dimensions."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.nn.diffusion import Posterior


def cross_entropy(logits: Float[Tensor, "n k"], labels: Int64[Tensor, " n"]) -> Float[Tensor, ""]:
    """-log p(label), averaged over the nodes given (Eq. 8)."""
    return F.cross_entropy(logits, labels)


def kl_to_standard_normal(q: Posterior) -> Float[Tensor, ""]:
    """KL(q || N(0, I)), averaged over nodes and dimensions (Eq. 9)."""
    return 0.5 * (q.mu**2 + torch.exp(2 * q.log_sigma) - 1 - 2 * q.log_sigma).mean()


def diffusion_loss(eps: Float[Tensor, "n h"], Z: Float[Tensor, "n h"]) -> Float[Tensor, ""]:
    """(eps - Z)^2, averaged over nodes and dimensions (Eq. 10)."""
    return F.mse_loss(Z, eps)


def embedding_match(H_emb: Float[Tensor, "n h"], H_hat: Float[Tensor, "n h"]) -> Float[Tensor, ""]:
    """(H_emb - H_hat)^2, averaged over nodes and dimensions (Eq. 11)."""
    return F.mse_loss(H_hat, H_emb)
