"""Nettack (the paper's advAttack): links and features of chosen nodes are flipped so that a GCN misclassifies them.

Zügner, Akbarnejad, Günnemann: Adversarial attacks on neural networks for graph data, KDD 2018.
"""

from gvdn.perturbations.nettack.attack import attack_each, nettack
from gvdn.perturbations.nettack.setup import LinearSurrogate, Surrogate

__all__ = ["LinearSurrogate", "Surrogate", "attack_each", "nettack"]
