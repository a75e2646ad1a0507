"""Nodes that arrive with wrong links or with a row of another class, for the tests of the trust model."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from communities import Votes, communities, with_links

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.trust.fitting import fit_trust
from gvdn.trust.guard import guarded
from gvdn.trust.model import Judgement, TrustModel
from gvdn.trust.rows import l1_norms
from gvdn.trust.scene import Scene
from gvdn.trust.student import teach

CPU = torch.device("cpu")
SIZE, LINKS = 440, 5
VOTES = Votes()


def fitted_on(graph: Graph, answers, *, labels: np.ndarray | None = None, seed: int = 0) -> TrustModel:
    student = teach(graph.features, graph.ids, answers(graph), seed=seed, device=CPU)
    return fit_trust(
        graph, answers, student, student.answers(graph.features, graph.ids), seed=seed,
        labels=np.full(graph.num_nodes, -1) if labels is None else labels,
        trained=np.arange(graph.num_nodes) % 10 == 0,
    )  # fmt: skip


def scene_of(model: TrustModel, clean: Graph, later: Graph, answers) -> Scene:
    """Links and rows of new nodes, and new links of others, are in question."""
    before = clean.locate(later.ids)
    known, n = before >= 0, later.num_nodes
    stored = np.where(known[:, None], answers(clean)[before], model.learned.prior)
    row = np.full(clean.num_nodes, -1)
    row[before[known]] = np.flatnonzero(known)
    old = np.sort(row[clean.edges], axis=1)
    judged = np.flatnonzero(~np.isin(edge_keys(later.edges, n), edge_keys(old, n)))
    seen = guarded(later, model.learned.norms[1])
    own = model.learned.student.answers(seen.features, later.ids)
    return Scene(
        model.learned, seen, known=known, stored=stored, own=own, judged=judged, doubted=~known,
        norms=l1_norms(later.features),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class World:
    """A graph, the part of it that a model was fitted on, and a perturbed version with all nodes."""

    clean: Graph
    whole: Graph
    new: np.ndarray
    hit: np.ndarray
    lying: np.ndarray
    model: TrustModel

    def later(self, *, links: bool = False, rows: bool = False) -> Graph:
        rng, graph = np.random.default_rng(3), self.whole
        if rows:
            features = graph.dense_features()
            for node in np.flatnonzero(self.lying):
                others = np.flatnonzero((graph.labels != graph.labels[node]) & ~self.new)
                features[node] = graph.dense_features()[rng.choice(others)]
            graph = dataclasses.replace(graph, features=features)
        if links:
            pairs = []
            for node in np.flatnonzero(self.hit):
                others = np.flatnonzero(graph.labels == (graph.labels[node] + 1) % 3)
                pairs += [(int(node), int(other)) for other in rng.choice(others, LINKS, replace=False)]
            graph = with_links(graph, pairs)
        return graph

    def judged(self, later: Graph) -> Judgement:
        return self.model.judge(scene_of(self.model, self.clean, later, VOTES))

    def hostile(self, later: Graph) -> np.ndarray:
        """Which links are not in the graph as it should be."""
        n = later.num_nodes
        return ~np.isin(edge_keys(later.edges, n), edge_keys(self.whole.edges, n))

    def accuracy(self, probs: np.ndarray, nodes: np.ndarray) -> float:
        return float((probs.argmax(axis=1) == self.whole.labels[nodes]).mean())


def made_world() -> World:
    """Sixty of the nodes are new; half of these get wrong links, a third a row of another class."""
    whole, rng = communities(SIZE), np.random.default_rng(1)
    new, hit, lying = (np.zeros(SIZE, dtype=bool) for _ in range(3))
    new[rng.choice(SIZE, 60, replace=False)] = True
    hit[rng.permutation(np.flatnonzero(new))[:30]] = True
    lying[rng.permutation(np.flatnonzero(new))[:20]] = True
    clean = whole.subgraph(np.flatnonzero(~new))
    return World(clean, whole, new, hit, lying, fitted_on(clean, VOTES))
