"""Graph -> Perturbed: pure functions with a receipt. They know no model and import no torch."""

from gvdn.perturbations.family import PERTURBATIONS, Perturbation, perturb
from gvdn.perturbations.information_sparsity import information_sparsity
from gvdn.perturbations.label_noise import label_noise
from gvdn.perturbations.manifest import load_receipt, save_receipt
from gvdn.perturbations.nettack import attack_each, nettack
from gvdn.perturbations.random_connections import random_connections
from gvdn.perturbations.rbcd import DifferentiableModel, prbcd
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt, replay
from gvdn.perturbations.surrogate import LinearSurrogate, Surrogate

__all__ = [
    "PERTURBATIONS",
    "Changes",
    "DifferentiableModel",
    "LinearSurrogate",
    "Perturbation",
    "Perturbed",
    "Receipt",
    "Surrogate",
    "attack_each",
    "information_sparsity",
    "label_noise",
    "load_receipt",
    "nettack",
    "perturb",
    "prbcd",
    "random_connections",
    "replay",
    "save_receipt",
]
