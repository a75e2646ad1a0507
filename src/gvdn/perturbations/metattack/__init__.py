"""Metattack: links are flipped by the gradient through the training of a surrogate.

Zügner, Günnemann: Adversarial attacks on graph neural networks via meta learning, ICLR 2019.
"""

from gvdn.perturbations.metattack.attack import metattack

__all__ = ["metattack"]
