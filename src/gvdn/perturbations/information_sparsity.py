"""Information sparsity (the paper's infoSparse): victims lose links, and in its literal form features."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph, Positions
from gvdn.graph.csr import csr_parts
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
    rows = graph.features[victims]
    there = np.diff(rows.indptr) if sp.issparse(rows) else np.count_nonzero(rows, axis=1)
    entries = int(there.sum())
    number = share(entries, fraction, "feature_fraction")
    if not number:
        return {}
    if number == entries:  # nothing to draw
        empty = sp.csr_array((int((there > 0).sum()), rows.shape[1]), dtype=rows.dtype)
        return {"feature_rows": victims[there > 0], "feature_values": empty}
    starts, columns, values = csr_parts(rows)
    left = np.ones(entries, dtype=bool)
    left[rng.permutation(entries)[:number]] = False
    starts = np.concatenate([[0], np.cumsum(left)])[starts]
    faded = sp.csr_array((values[left], columns[left], starts), shape=rows.shape)
    changed = np.diff(starts) < there
    return {"feature_rows": victims[changed], "feature_values": sp.csr_array(faded[changed])}
