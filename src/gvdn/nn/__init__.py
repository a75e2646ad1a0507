"""Torch modules that follow the equations of the papers. No loops over epochs, no files, no printing."""
