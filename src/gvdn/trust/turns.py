"""A graph that may have been perturbed before a model was fitted on it: its nodes are judged in turn, as if new."""

import numpy as np
from jaxtyping import Float, Int64

from gvdn.graph import Graph, Positions
from gvdn.seeds import generator
from gvdn.trust.baseline import Baseline
from gvdn.trust.changes import changes_since
from gvdn.trust.front import CAUTION, Front, front_of, scene_of
from gvdn.trust.guard import guarded
from gvdn.trust.model import Judgement, TrustModel
from gvdn.trust.rows import Probs, digests

TURNS = 10
"""In each turn a tenth of the nodes is new, as in the simulations that the trust model was fitted on."""


class InTurn(Front):
    """What the trust model says of a graph whose nodes were judged in turn; all links and rows are in question."""

    @property
    def weight_of_witnesses(self) -> Float[np.ndarray, " n"]:
        """How far the answer of each node is that of all witnesses together: 1 - (1 - suspicion)^8."""
        return 1 - (1 - self.judgement.suspicion) ** CAUTION

    def answers(self, network: Probs) -> Probs:
        """The answer of all witnesses together, as far as a node is suspicious, and the model's as far as it is not."""
        weight = self.weight_of_witnesses[:, None]
        return (1 - weight) * network + weight * super().answers(network)


def in_turn(model: TrustModel, baseline: Baseline, graph: Graph, *, seed: int, guard: bool = True) -> InTurn:
    """Judge a graph of which everything that was stored may be wrong, though most of it is right.

    In each turn nothing is known of a tenth of the nodes, and their links and rows are judged by what is stored of the
    others. A row is judged in the turn of its node, and a link in those of its two ends, of which the lower probability
    counts: while an end that hostile links misled is known, what is stored of it speaks for them.
    """
    rows, turns = digests(graph.features), _turns(graph, seed)
    n, m = graph.num_nodes, graph.num_edges
    honest, genuine, without, with_rows = np.ones(n), np.ones(m), np.ones(m), np.ones(m)
    votes = np.tile(model.learned.prior, (n, 1))
    for turn in range(TURNS):
        nodes = np.flatnonzero(turns == turn)
        if not nodes.size:
            continue
        others = baseline.only(~np.isin(baseline.ids, graph.ids[nodes]))
        found = front_of(model, others, graph, guard=guard, row_digests=rows).judgement
        honest[nodes], votes[nodes] = found.honest[nodes], found.votes[nodes]
        links = found.scene.judged
        at = np.flatnonzero((turns[graph.edges[links]] == turn).any(axis=1))
        at = at[found.in_question[at] <= genuine[links[at]]]
        for all_links, of_turn in (
            (genuine, found.in_question),
            (without, found.without_rows),
            (with_rows, found.with_rows),
        ):
            all_links[links[at]] = of_turn[at]
    nothing = baseline.only(np.zeros(len(baseline.ids), dtype=bool))
    changes = changes_since(nothing.ids, nothing.edges, graph)
    kept = guarded(graph, baseline.max_norm) if guard else graph
    scene = scene_of(model, nothing, graph, changes, kept, rows)
    judgement = Judgement(scene, genuine, honest, genuine, without, with_rows, votes)
    return InTurn(model, nothing, changes, judgement, kept)


def _turns(graph: Graph, seed: int) -> Int64[np.ndarray, " n"]:
    """The turn in which each node is new; it does not depend on the order of the nodes."""
    turns: Positions = np.empty(graph.num_nodes, dtype=np.int64)
    turns[np.argsort(graph.ids)] = generator(seed, "trust", "turns").permutation(graph.num_nodes) % TURNS
    return turns
