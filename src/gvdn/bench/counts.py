"""The dataset table's row of a graph."""

from __future__ import annotations

from dataclasses import asdict

from gvdn.experiments.encounter import Encounter
from gvdn.experiments.runs import Record
from gvdn.graph.statistics import statistics

SHOWN = ("nodes", "edges", "edges_both_directions", "features", "classes", "average_degree_test", "edge_homophily")


def counted(met: Encounter) -> Record:
    """The graph itself; of the seed it has the split, and with it the degree of the test nodes."""
    found = asdict(statistics(met.clean, met.split))
    return {"counts": {name: found[name] for name in SHOWN}}
