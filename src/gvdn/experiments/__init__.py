"""What is run, and what is kept of it."""
