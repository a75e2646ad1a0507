"""The training loop of all methods, the task of learning from labels, checkpoints without pickle."""
