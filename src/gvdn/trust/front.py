"""Trust in front of a model: a graph is judged and weighed before the model sees it, and its answers are joined with
those of the other witnesses."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, UInt64

from gvdn.graph import Graph, Positions
from gvdn.graph.edges import are_among
from gvdn.graph.graph import edge_keys
from gvdn.trust.baseline import Baseline
from gvdn.trust.changes import Changes, changes_since
from gvdn.trust.guard import guarded
from gvdn.trust.model import Judgement, TrustModel
from gvdn.trust.once import once
from gvdn.trust.rows import Probs, digests, l1_norms
from gvdn.trust.scene import Scene

CAUTION = 8
"""A stored answer counts as if each doubt were there so many times over."""


@dataclass(frozen=True, eq=False)
class Front:
    """What the trust model says of one graph.

    Attributes:
        guarded: the graph after the guard.
        seen: the same, in which links and rows count as far as they are trusted.
        known: the row of each node among the stored ones, -1 where nothing is stored.
    """

    model: TrustModel
    baseline: Baseline
    changes: Changes
    judgement: Judgement
    guarded: Graph

    @cached_property
    def seen(self) -> Graph:
        return self.judgement.weighed(self.guarded)

    @property
    def known(self) -> Positions:
        return self.changes.stored

    @property
    def in_question(self) -> Positions:
        """The nodes of which nothing is stored."""
        return np.flatnonzero(self.known < 0)

    @once
    def doubt(self) -> Float[np.ndarray, " n"]:
        """How much of the surroundings of each node is unreliable, from 0 to 1.

        The expected number of hostile links, the number of lost ones and the dishonesty of its row, and the mean of
        the same over its neighbours.
        """
        judged, changes = self.judgement, self.changes
        hostile = judged.hostile_share * np.maximum(judged.scene.degrees, 1)
        own = judged.scene.here.of_all(np.minimum(hostile + changes.lost + (1 - judged.honest), 1))
        near = self.seen.adjacency.astype(bool).astype(np.float64)
        degrees = np.maximum(near.sum(axis=1), 1)
        return np.minimum(own + near @ own / degrees, 1)

    def answers(self, network: Probs) -> Probs:
        """The class probabilities of every node, given the model's on the graph `seen`.

        A node of which nothing is stored gets the answer of all witnesses together. A stored node keeps the model's
        answer as far as its surroundings are reliable, and has its stored answer as far as they are not.
        """
        found = np.array(network, dtype=np.float64)
        new = self.in_question
        if self.judgement.scene.here.some(self.known < 0):
            found[new] = self.model.blended(self.judgement, network, new)
        return self.with_stored(found)

    @property
    def weight_of_stored(self) -> Float[np.ndarray, " n"]:
        """How far the answer of each node is the stored one: 1 - (1 - doubt)^8; 0 where nothing is stored."""
        return np.where(self.known >= 0, 1 - (1 - self.doubt) ** CAUTION, 0)

    def with_stored(self, network: Probs) -> Probs:
        """The same answers, with the stored ones of nodes whose surroundings are unreliable, as far as they are."""
        weight = self.weight_of_stored[:, None]
        stored = self.baseline.answers[self.known] if len(self.baseline.ids) else network
        return (1 - weight) * network + weight * stored


def front_of(
    model: TrustModel, baseline: Baseline, graph: Graph, *, guard: bool = True,
    row_digests: UInt64[np.ndarray, " n"] | None = None,
) -> Front:  # fmt: skip
    """Judge a graph by what is stored of the clean one.

    Args:
        row_digests: those of the feature rows, where they are known already.
    """
    changes = changes_since(baseline.ids, baseline.edges, graph)
    kept = guarded(graph, baseline.max_norm) if guard else graph
    scene = scene_of(model, baseline, graph, changes, kept, row_digests)
    return Front(model, baseline, changes, model.judge(scene), kept)


def scene_of(
    model: TrustModel, baseline: Baseline, graph: Graph, changes: Changes, kept: Graph,
    row_digests: UInt64[np.ndarray, " n"] | None = None,
) -> Scene:  # fmt: skip
    """What there is to judge: the links and rows that are not as they were stored.

    Args:
        changes: those of the graph since the clean one.
        kept: the graph after the guard.
    """
    known = changes.stored >= 0
    doubted = ~known
    now = digests(graph.features) if row_digests is None else row_digests
    doubted[known] = now[known] != baseline.digests[changes.stored[known]]
    return Scene(
        model.learned, kept, known=known, stored=_stored(model, baseline, changes),
        judged=_new_links(graph, changes), own=_own(model, baseline, kept, changes, doubted), doubted=doubted,
        norms=l1_norms(graph.features),
    )  # fmt: skip


def _stored(model: TrustModel, baseline: Baseline, changes: Changes) -> Probs:
    """The stored answer of each node, the prior of a new one."""
    if not len(baseline.ids):
        return np.tile(model.learned.prior, (len(changes.stored), 1))
    return np.where((changes.stored >= 0)[:, None], baseline.answers[changes.stored], model.learned.prior)


def _own(
    model: TrustModel, baseline: Baseline, graph: Graph, changes: Changes, doubted: Bool[np.ndarray, " n"]
) -> Probs:
    """What the student says of each row, asked anew only of rows that are in question."""
    own = np.tile(model.learned.prior, (graph.num_nodes, 1))
    same = ~doubted
    own[same] = baseline.own[changes.stored[same]]
    asked = np.flatnonzero(doubted)
    if asked.size:
        own[asked] = model.learned.student.answers(graph.features[asked], graph.ids[asked])
    return own


def _new_links(graph: Graph, changes: Changes) -> Positions:
    """Which of the graph's edges were not there before."""
    n = graph.num_nodes
    return np.flatnonzero(are_among(edge_keys(graph.edges, n), edge_keys(changes.links, n)))
