"""DICE: delete links inside of classes, connect nodes of different classes.

Waniek, Michalak, Wooldridge, Rahwan: Hiding individuals and communities in a social network, Nature Human Behaviour
2018.
"""

import numpy as np
from jaxtyping import Int64

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import UNLABELLED, edge_keys
from gvdn.perturbations.family import Plan, flips_allowed, perturbation
from gvdn.perturbations.flips import Keys, drawn_keys, pairs_of
from gvdn.perturbations.receipt import Changes
from gvdn.perturbations.self_training import self_training_labels, training_nodes
from gvdn.seeds import generator

KNOWN = ("train", "all")


@perturbation("dice", inputs=("train",))
def dice(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    train: object = None,
    edge_fraction: float = 0.05,
    remove: float = 0.5,
    labels: str = "train",
) -> Plan:
    """Random links inside of classes are deleted, and random nodes of different classes are connected.

    Each of the flips deletes with the probability `remove`, and else connects; where there are fewer links or pairs of
    that kind, there are fewer flips. All candidates are victims.

    Args:
        train: positions of the training nodes; those of the split when left out.
        edge_fraction: the number of flips, as a share of the graph's edges.
        labels: `train`: the attacker knows the labels of the training nodes, and for the others goes by the predictions
            of a surrogate, softmax(Â² X W), that is trained on them. `all`: the attacker knows every true label, more
            than any method, as in the published attack; unlabelled nodes are left alone.
    """
    if labels not in KNOWN:
        raise InvalidInput(f"expected {' or '.join(KNOWN)} as labels of dice, got {labels!r}")
    if not 0 <= remove <= 1:
        raise InvalidInput(f"expected remove between 0 and 1, got {remove}")
    budget = flips_allowed(graph, edge_fraction)
    classes = graph.labels if labels == "all" else self_training_labels(graph, training_nodes(graph, train, "dice"))
    rng = generator(seed, "perturb", "dice", graph.name)
    ends = classes[graph.edges]
    inside = np.flatnonzero((ends[:, 0] == ends[:, 1]) & (ends[:, 0] != UNLABELLED))
    deletions = min(int(rng.binomial(budget, remove)), len(inside))
    gone = np.sort(rng.permutation(inside)[:deletions])
    added = _between(graph, classes, budget - deletions, rng)
    return Plan(Changes(added=pairs_of(added, graph.num_nodes), removed=graph.edges[gone]), candidates)


def _between(graph: Graph, classes: Int64[np.ndarray, " n"], number: int, rng: np.random.Generator) -> Keys:
    """So many random pairs of nodes of different classes that are not linked, or all of them where there are fewer."""
    nodes = np.flatnonzero(classes != UNLABELLED)
    there = edge_keys(graph.edges, graph.num_nodes)
    found = np.empty(0, dtype=np.int64)
    number = min(number, _pairs_between(graph, classes))
    while len(found) < number:
        u, v = (rng.integers(0, len(nodes) - less, 2 * number) for less in (0, 1))
        a, b = pairs_of(drawn_keys(u, v, len(nodes)), len(nodes)).T
        keys = (nodes[a] * graph.num_nodes + nodes[b])[classes[nodes[a]] != classes[nodes[b]]]
        new = np.setdiff1d(keys, np.union1d(there, found))
        found = np.union1d(found, rng.permutation(new)[: number - len(found)])
    return found


def _pairs_between(graph: Graph, classes: Int64[np.ndarray, " n"]) -> int:
    """How many pairs of nodes of different classes are not linked."""
    sizes = np.bincount(classes[classes != UNLABELLED])
    a, b = classes[graph.edges].T
    linked = ((a != b) & (a != UNLABELLED) & (b != UNLABELLED)).sum()
    return int((sizes.sum() ** 2 - (sizes**2).sum()) // 2 - linked)
