"""The graph and the split of its nodes. Imports no torch."""

from gvdn.graph.convert import as_graph
from gvdn.graph.graph import Features, Graph, GraphLike, Positions, PositionsLike
from gvdn.graph.normalise import normalised_adjacency, row_normalised
from gvdn.graph.npz import read_npz, write_npz
from gvdn.graph.published import Published
from gvdn.graph.split import Split, as_split, random_split
from gvdn.graph.split_kinds import choose_split, published_split, temporal_split
from gvdn.graph.statistics import Statistics, edge_homophily, statistics
from gvdn.graph.tables.columns import Column, Columns
from gvdn.graph.tables.structure import has_structural_features, with_structural_features

__all__ = [
    "Column", "Columns", "Features", "Graph", "GraphLike", "Positions", "PositionsLike", "Published", "Split",
    "Statistics", "as_graph", "as_split", "choose_split", "edge_homophily", "has_structural_features",
    "normalised_adjacency", "published_split", "random_split", "read_npz", "row_normalised", "statistics",
    "temporal_split", "with_structural_features", "write_npz",
]  # fmt: skip
