"""Tables of nodes and links: what becomes of their columns, and graphs from and to them."""
