"""What the graphs of one's own in a study contain, so that a graph that changed is measured anew."""

from dataclasses import replace

from gvdn.data import load_graph
from gvdn.study import Spec

SHOWN = 12
"""Letters of a graph's hash that stand in the cells of a study."""


def with_contents(spec: Spec) -> Spec:
    """The spec with the beginning of the hash of each graph of one's own; these are read."""
    read = {
        name: replace(graph, content=graph.content or load_graph(graph.path).hash[:SHOWN])
        for name, graph in spec.graphs.items()
        if name in spec.datasets
    }
    return replace(spec, graphs=read)
