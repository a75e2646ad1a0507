"""Graphs by name and from files. Imports no torch until something must be downloaded or unpickled."""

from gvdn.data.catalogue import DATASETS, Dataset
from gvdn.data.load import load_graph
from gvdn.data.tables import read_ids, read_tables, require_ids, write_tables

__all__ = ["DATASETS", "Dataset", "load_graph", "read_ids", "read_tables", "require_ids", "write_tables"]
