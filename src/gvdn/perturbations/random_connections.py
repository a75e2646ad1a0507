"""Random connections (the paper's rdmPert): a few perturbators connect to many victims at random."""

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.edges import find_keys
from gvdn.perturbations.family import Plan, perturbation, share
from gvdn.perturbations.receipt import Changes, Pairs
from gvdn.seeds import generator


@perturbation("random-connections", aliases=("rdmPert",))
def random_connections(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    rate: float = 0.01,
    victim_fraction: float = 0.1,
    constant_features: bool = True,
) -> Plan:
    """Perturbators connect to many victims at random, and every feature of theirs is set to the victims' mean degree.

    Of the candidates, `victim_fraction` are victims; `rate` x victims of the others are perturbators (at least one);
    each gains 1 / `rate` edges to distinct victims that were not its neighbours (to all such, where there are fewer).
    The feature value, the mean degree of the victims with their self-loop, is what the predecessor's published code
    writes and what the paper's numbers need; with `constant_features=False` the features are not changed.
    """
    if not 0 < rate <= 1:
        raise InvalidInput(f"expected a rate in (0, 1], got {rate}")
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    others = max(1, share(number, rate, "rate"))
    if number + others > len(candidates):
        wanted = f"{number + others} candidates for {number} victims and {others} perturbators"
        raise InvalidInput(f"expected at least {wanted}, got {len(candidates)}; lower victim_fraction or rate")
    rng = generator(seed, "perturb", "random-connections", graph.name)
    shuffled = rng.permutation(candidates)
    victims, perturbators = np.sort(shuffled[:number]), np.sort(shuffled[number : number + others])
    added = _connect(rng, graph, victims, perturbators, round(1 / rate))
    changes = Changes(added=added)
    if constant_features:
        degree = graph.degrees[victims].mean() + 1
        rows = np.full((len(perturbators), graph.num_features), degree, dtype=np.float32)
        changes = Changes(added=added, feature_rows=perturbators, feature_values=sp.csr_array(rows))
    return Plan(changes, victims, perturbators)


def _connect(rng: np.random.Generator, graph: Graph, victims: Positions, others: Positions, number: int) -> Pairs:
    """The new edges of the perturbators as (smaller, larger); no two coincide, since victims are no perturbators."""
    pairs = []
    for perturbator in others:
        start, stop = graph.adjacency.indptr[perturbator : perturbator + 2]
        near = find_keys(victims, graph.adjacency.indices[start:stop].astype(np.int64))
        near = near[near >= 0]  # ascending: the places of its neighbours among the victims
        eligible = len(victims) - len(near)
        drawn = rng.choice(eligible, size=min(number, eligible), replace=False)
        # The i-th of the others stands behind as many neighbours as have at most i others before them.
        chosen = victims[drawn + np.searchsorted(near - np.arange(len(near)), drawn, side="right")]
        pairs.append(np.stack([np.minimum(chosen, perturbator), np.maximum(chosen, perturbator)], axis=1))
    return np.concatenate(pairs).astype(np.int64)
