"""Reference rows of the tables: what a defence must beat, or may not do; one file each."""
