"""PRBCD and GRBCD: white-box attacks on links by the gradient of the attacked model.

Geisler et al.: Robustness of graph neural networks at scale, NeurIPS 2021. Of all pairs of nodes, a random block is
considered at a time, so that nothing grows with their number.
"""

from gvdn.perturbations.prbcd.attack import DifferentiableModel, grbcd, prbcd
from gvdn.perturbations.prbcd.rounds import DefendedModel, adaptive_prbcd

__all__ = ["DefendedModel", "DifferentiableModel", "adaptive_prbcd", "grbcd", "prbcd"]
