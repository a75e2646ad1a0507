"""The training loop of all methods, and the task of learning from labels."""
