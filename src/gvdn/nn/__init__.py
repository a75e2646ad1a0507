"""Torch modules that read like the paper. No loops over epochs, no files, no printing."""
