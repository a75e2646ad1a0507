"""What the clean graph teaches about nodes and links, and the diagnosis of a later graph. Knows no method."""
