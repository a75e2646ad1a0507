"""Perturbations: a graph in, a perturbed graph with a receipt out. Only the folder prbcd imports torch, when used."""

from gvdn.perturbations.dice import dice
from gvdn.perturbations.family import PERTURBATIONS, Perturbation, Plan, perturb, perturbation
from gvdn.perturbations.information_sparsity import information_sparsity
from gvdn.perturbations.label_noise import label_noise
from gvdn.perturbations.metattack import metattack
from gvdn.perturbations.natural_churn import natural_churn
from gvdn.perturbations.nettack import LinearSurrogate, Surrogate, attack_each, nettack
from gvdn.perturbations.node_injection import node_injection
from gvdn.perturbations.prbcd import DefendedModel, DifferentiableModel, adaptive_prbcd, grbcd, prbcd
from gvdn.perturbations.random_connections import random_connections
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt
from gvdn.perturbations.receipt_files import load_receipt, replay, save_receipt
from gvdn.perturbations.wrong_links import wrong_links

__all__ = [
    "PERTURBATIONS", "Changes", "DefendedModel", "DifferentiableModel", "LinearSurrogate", "Perturbation", "Perturbed",
    "Plan", "Receipt", "Surrogate", "adaptive_prbcd", "attack_each", "dice", "grbcd", "information_sparsity",
    "label_noise", "load_receipt", "metattack", "natural_churn", "nettack", "node_injection", "perturb", "perturbation",
    "prbcd", "random_connections", "replay", "save_receipt", "wrong_links",
]  # fmt: skip
