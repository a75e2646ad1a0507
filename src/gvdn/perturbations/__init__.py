"""Graph -> Perturbed: pure functions with a receipt. They know no model and import no torch."""

from gvdn.perturbations.family import PERTURBATIONS, Perturbation, perturb
from gvdn.perturbations.information_sparsity import information_sparsity
from gvdn.perturbations.label_noise import label_noise
from gvdn.perturbations.manifest import load_receipt, save_receipt
from gvdn.perturbations.random_connections import random_connections
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt, replay

__all__ = [
    "PERTURBATIONS",
    "Changes",
    "Perturbation",
    "Perturbed",
    "Receipt",
    "information_sparsity",
    "label_noise",
    "load_receipt",
    "perturb",
    "random_connections",
    "replay",
    "save_receipt",
]
