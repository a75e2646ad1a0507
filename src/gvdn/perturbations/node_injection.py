"""Node injection: new nodes with plausible features arrive and link to victims; links that were there stay."""

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import unused_ids
from gvdn.perturbations.family import Plan, labelled_victims, perturbation
from gvdn.perturbations.receipt import Changes, Pairs
from gvdn.seeds import generator


@perturbation("node-injection")
def node_injection(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    victim_fraction: float = 0.1,
    links: int = 5,
    victims_each: int = 10,
) -> Plan:
    """New nodes, each with the feature row of a random node of the graph, link to the victims.

    An attacker who cannot change what is there can still open accounts (Sun et al.: Adversarial attacks on graph neural
    networks via node injections, WWW 2020); here they choose their rows and victims at random. Each victim gets links
    to `links` of the new nodes, each new node to `victims_each` victims (the last one to those that are left; all of
    them to every victim where there are fewer). New nodes have no label and an id that the graph does not have; they
    are the perturbators, and stand behind the nodes that were there. One seed gives the same victims as wrong-links.
    """
    if links < 1 or victims_each < 1:
        raise InvalidInput(f"expected links and victims_each of at least 1, got {links} and {victims_each}; raise them")
    victims = labelled_victims(graph, candidates, seed, victim_fraction)
    rng = generator(seed, "perturb", "node-injection", graph.name)
    added = _links(rng, victims, links, min(victims_each, len(victims)), graph.num_nodes)
    injected = np.arange(graph.num_nodes, added[:, 1].max() + 1)
    copied = rng.integers(0, graph.num_nodes, len(injected))
    rows = sp.csr_array(graph.features[copied])
    ids = unused_ids(graph.ids, len(injected), "injected")
    return Plan(Changes(added=added, new_ids=ids, new_values=rows), victims, injected)


def _links(rng: np.random.Generator, victims: Positions, links: int, each: int, first: int) -> Pairs:
    """All new edges as (victim, new node): the victims in a new random order `links` times, `each` of them to a node.

    The last node of a round goes on with the victims of the next one; those that it has already come last there, so
    that it links to nobody twice.
    """
    order = np.zeros(0, dtype=np.int64)
    for _ in range(links):
        shuffled = rng.permutation(victims)
        again = np.isin(shuffled, order[len(order) - len(order) % each :])
        order = np.concatenate([order, shuffled[~again], shuffled[again]])
    return np.stack([order, first + np.arange(len(order)) // each], axis=1)
