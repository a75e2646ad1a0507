"""Wrong links: victims are linked to ordinary nodes of other classes, without anything that is out of range."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.edges import find_keys
from gvdn.graph.graph import UNLABELLED, edge_keys
from gvdn.perturbations.family import Plan, labelled_victims, perturbation
from gvdn.perturbations.receipt import Changes, Pairs
from gvdn.seeds import generator


@perturbation("wrong-links")
def wrong_links(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    victim_fraction: float = 0.1,
    links: int = 5,
    mixed: bool = False,
) -> Plan:
    """Each victim gets links to random nodes of other classes; with `mixed`, the feature row of such a node too.

    The classes are the true labels, so the perturber knows more than any method. Victims and partners are labelled
    nodes; partners are no victims and no neighbours of theirs. A victim gets `links` new links, or fewer where there
    are fewer such nodes. The partners are ordinary nodes, so there are no perturbators. One seed gives the same
    victims as node-injection, and the same links with and without `mixed`.
    """
    if links < 1:
        raise InvalidInput(f"expected at least 1 link for each victim, got {links}; raise links")
    victims = labelled_victims(graph, candidates, seed, victim_fraction)
    labelled = np.flatnonzero(graph.labels != UNLABELLED)
    others = OtherClasses(graph.labels, np.setdiff1d(labelled, victims, assume_unique=True))
    lonely = victims[others.number(victims) == 0]
    if lonely.size:
        wanted = f"labelled nodes of another class than {graph.ids[lonely[0]]}'s that are no victims"
        raise InvalidInput(f"expected {wanted}, got none; lower victim_fraction, or label more nodes")
    rng = generator(seed, "perturb", "wrong-links", graph.name)
    added = _links(rng, graph, others, victims, links)
    return Plan(Changes(added=added, **(_mixed(rng, graph, others, victims) if mixed else {})), victims)


class OtherClasses:
    """Nodes of any class but that of a given node, without a list for each class.

    Sorted by class, the nodes of one class are a range; positions behind it are moved by its length.
    """

    def __init__(self, labels: Positions, nodes: Positions) -> None:
        self.labels, self.nodes = labels, nodes[np.argsort(labels[nodes], kind="stable")]
        counts = np.bincount(labels[nodes], minlength=int(labels.max(initial=0)) + 1)
        self.counts, self.starts = counts, np.cumsum(counts) - counts

    def number(self, nodes: Positions) -> Positions:
        """How many nodes of other classes than that of each node there are."""
        return len(self.nodes) - self.counts[self.labels[nodes]]

    def draw(self, rng: np.random.Generator, nodes: Positions, number: Positions) -> Pairs:
        """For each node so many distinct nodes of other classes in random order, or all of them where there are fewer.

        As pairs of the place of the node among the given ones and of a node of another class.
        """
        there = self.number(nodes)
        number = np.minimum(number, there)
        told = zip(there.tolist(), number.tolist(), strict=True)
        drawn = np.concatenate([rng.choice(all_of_them, some, replace=False) for all_of_them, some in told])
        place = np.repeat(np.arange(len(nodes)), number)
        own = self.labels[nodes[place]]
        found = self.nodes[np.where(drawn < self.starts[own], drawn, drawn + self.counts[own])]
        return np.stack([place, found], axis=1)


def _links(rng: np.random.Generator, graph: Graph, others: OtherClasses, victims: Positions, number: int) -> Pairs:
    """The new edges of the victims as (smaller, larger).

    As many partners more are drawn as a victim has neighbours, so that enough are left without those.
    """
    place, partner = others.draw(rng, victims, number + graph.degrees[victims]).T
    pairs = np.sort(np.stack([victims[place], partner], axis=1), axis=1)
    there = edge_keys(graph.edges, graph.num_nodes)
    new = np.flatnonzero(find_keys(there, edge_keys(pairs, graph.num_nodes)) < 0)
    first = np.searchsorted(place[new], np.arange(len(victims)))  # the first new one of each victim
    return pairs[new[np.arange(len(new)) - first[place[new]] < number]]


def _mixed(rng: np.random.Generator, graph: Graph, others: OtherClasses, victims: Positions) -> dict[str, Any]:
    """Each victim with the feature row of a random node of another class."""
    rows = others.draw(rng, victims, np.ones_like(victims))[:, 1]
    return {"feature_rows": victims, "feature_values": sp.csr_array(graph.features[rows])}
