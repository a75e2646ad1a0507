"""Information sparsity (the paper's infoSparse): victims lose links, and in its literal form features."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph, Positions
from gvdn.perturbations.family import Plan, perturbation, share
from gvdn.perturbations.receipt import Changes
from gvdn.registry import Registry
from gvdn.seeds import generator

VARIANTS: Registry[tuple[float, float]] = Registry("variant of information-sparsity")
"""(share of links, share of features) that are removed: `literal` by the paper's text, `links-only` by its code."""
VARIANTS.add("literal", (0.9, 1.0))
VARIANTS.add("links-only", (0.9, 0.0))


@perturbation("information-sparsity", aliases=("infoSparse",))
def information_sparsity(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    variant: str = "literal",
    link_fraction: float | None = None,
    feature_fraction: float | None = None,
    victim_fraction: float = 1.0,
) -> Plan:
    """Victims lose most of their links, and in the literal variant all of their features.

    Of the edges with a victim at either end, `link_fraction` are removed; of the non-zero feature entries of victims,
    `feature_fraction` are zeroed. A fraction that is not given comes from the variant: literal removes 0.9 of the links
    and all features, links-only keeps the features.
    """
    links, entries = VARIANTS[variant]
    links = links if link_fraction is None else link_fraction
    entries = entries if feature_fraction is None else feature_fraction
    rng = generator(seed, "perturb", "information-sparsity", graph.name)
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    victims = np.sort(rng.permutation(candidates)[:number])
    is_victim = np.zeros(graph.num_nodes, dtype=bool)
    is_victim[victims] = True
    incident = np.flatnonzero(is_victim[graph.edges].any(axis=1))
    gone = rng.permutation(incident)[: share(len(incident), links, "link_fraction")]
    changes = Changes(removed=graph.edges[np.sort(gone)], **_without_entries(rng, graph, victims, entries))
    return Plan(changes, victims)


def _without_entries(rng: np.random.Generator, graph: Graph, victims: Positions, fraction: float) -> dict[str, Any]:
    """The victims' rows with a share of their non-zero entries zeroed."""
    rows = sp.csr_array(graph.features[victims])
    number = share(rows.nnz, fraction, "feature_fraction")
    if not number:
        return {}
    if number == rows.nnz:  # nothing to draw
        changed = np.diff(rows.indptr) > 0
        nothing = sp.csr_array((int(changed.sum()), rows.shape[1]), dtype=rows.dtype)
        return {"feature_rows": victims[changed], "feature_values": nothing}
    left = np.ones(rows.nnz, dtype=bool)
    left[rng.permutation(rows.nnz)[:number]] = False
    starts = np.concatenate([[0], np.cumsum(left)])[rows.indptr]
    faded = sp.csr_array((rows.data[left], rows.indices[left], starts), shape=rows.shape)
    changed = np.diff(starts) < np.diff(rows.indptr)
    return {"feature_rows": victims[changed], "feature_values": sp.csr_array(faded[changed])}
