"""Runs a study: cells become fitted models, perturbed graphs and records, in one process or many."""
