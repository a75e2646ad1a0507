"""One loop for every method, best weights that are copies, checkpoints without pickle."""
