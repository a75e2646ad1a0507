"""Candidates and victims: which nodes a perturbation may hit, and which of them it does."""

from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.checks import positions
from gvdn.seeds import generator


def share(count: int, fraction: float, what: str) -> int:
    """The nearest whole number to a fraction of a count (halves up)."""
    if not 0 <= fraction <= 1:
        raise InvalidInput(f"expected {what} between 0 and 1, got {fraction}")
    return int(np.floor(count * fraction + 0.5))


def checked_candidates(candidates: object, graph: Graph) -> Positions:
    """The candidates in ascending order, each once; positions outside of the graph are refused."""
    unique = np.unique(positions("candidates", candidates))
    if not unique.size:
        raise InvalidInput(f"expected at least one candidate node of {graph.name} to perturb, got none")
    if unique[-1] >= graph.num_nodes:
        raise InvalidInput(f"expected candidates among the {graph.num_nodes} nodes, got position {unique[-1]}")
    return unique


def choose_victims(
    graph: Graph, candidates: Positions, given: Any, seed: int, victim_fraction: float, max_degree: int
) -> Positions:
    """The given victims, or some of the candidates with 1 to max_degree - 1 neighbours; in ascending order."""
    if given is not None:
        return _located(graph, given)
    degrees = graph.degrees[candidates]
    eligible = candidates[(degrees > 0) & (degrees < max_degree)]
    if not eligible.size:
        wanted = f"a candidate of {graph.name} with more than 0 and fewer than {max_degree} neighbours"
        raise InvalidInput(f"expected {wanted}, got none; raise max_degree or name the victims")
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    return np.sort(generator(seed, "perturb", "nettack", graph.name).permutation(eligible)[:number])


def _located(graph: Graph, given: Any) -> Positions:
    """Positions of victims given as positions, or as ids in text."""
    victims = np.asarray(given)
    if victims.ndim != 1 or not victims.size or victims.dtype.kind not in "iuUO":
        raise InvalidInput(f"expected victims as a list of positions or of ids in text, got {given!r}")
    if victims.dtype.kind in "iu":
        unknown, found = victims[(victims < 0) | (victims >= graph.num_nodes)], victims
    else:
        found = graph.locate(victims.astype(np.str_))
        unknown = victims[found < 0]
    if unknown.size:
        raise InvalidInput(f"expected victims among the {graph.num_nodes} nodes of {graph.name}, got {unknown[0]!s}")
    return np.unique(found.astype(np.int64))
