"""Label transition: the probability of each observed label given the latent one, and the conditional of the latent."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

Labels = Int64[Tensor, " n"]
Prior = Float[Tensor, " k"]
UNOBSERVED = -1
"""The observation of a node that has none."""


def transition_matrix(latent: Labels, observed: Labels, alpha: Prior) -> Float[Tensor, "k k"]:
    """phi_kc = (number of nodes with z = k, y = c, plus alpha_k) / (their sum over c): the mean under Dir(alpha_k)."""
    classes = len(alpha)
    known = observed != UNOBSERVED
    cells = latent[known] * classes + observed[known]
    counts = torch.bincount(cells, minlength=classes**2).view(classes, classes) + alpha[:, None]
    return counts / counts.sum(dim=1, keepdim=True)


def conditional(probs: Float[Tensor, "n k"], phi: Float[Tensor, "k k"], observed: Labels) -> Float[Tensor, "n k"]:
    """P(z_n = k | y_n) ~ p_nk phi_k,y_n; without an observation it is p_n."""
    likelihood = torch.where((observed == UNOBSERVED)[:, None], 1.0, phi.T[observed.clamp(min=0)])
    joint = probs * likelihood
    return joint / joint.sum(dim=1, keepdim=True)


def draw_labels(probs: Float[Tensor, "n k"], u: Float[Tensor, " n"]) -> Labels:
    """One label per row, by where u, uniform on [0, 1), falls among the cumulated probabilities."""
    return (probs.cumsum(dim=1)[:, :-1] <= u[:, None]).sum(dim=1)


def follow_classes(alpha: Prior, labels: Labels, before: Labels) -> Prior:
    """LInDT's dynamic prior: alpha_k times the growth of class k; unchanged for a class that was or is empty."""
    now, then = (torch.bincount(z, minlength=len(alpha)).float() for z in (labels, before))
    return torch.where((now > 0) & (then > 0), alpha * now / then.clamp(min=1), alpha)
