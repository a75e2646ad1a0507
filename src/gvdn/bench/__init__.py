"""Runs a study: in one process or many."""
