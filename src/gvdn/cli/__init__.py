"""Parse, call, print. Nothing here decides anything about science."""
