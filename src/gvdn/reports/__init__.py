"""Records -> tables, figures, pages. Imports no torch."""
