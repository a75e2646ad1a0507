"""Nettack against brute force: every candidate flip is made, Â² rebuilt densely, and the best one kept."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gvdn.graph import Graph
from gvdn.perturbations import LinearSurrogate, attack_each, perturb, replay
from gvdn.perturbations.nettack.linearised import LinearisedGCN
from gvdn.perturbations.nettack.setup import Rules, Setup

RULES = Rules(
    link_flips=3,
    feature_flips=4,
    influencers=0,
    target=None,
    labels=False,
    flip="as-seen",
    degree_test=True,
    cooccurrence=True,
    spare_last_links=True,
)


class BruteForce:
    """A graph as dense matrices, and a greedy search that tries everything."""

    def __init__(self, graph: Graph, W: np.ndarray, rules: Rules) -> None:
        self.A, self.X, self.W, self.rules = graph.adjacency.toarray(), graph.dense_features(), W, rules
        self.clean_A, self.clean_X, self.labels = self.A.copy(), self.X.copy(), graph.labels
        self.old = [int(np.argmax(self.logits(self.A, self.X, node))) for node in range(len(self.A))]

    def logits(self, A, X, victim):
        loops = A.astype(np.float64) + np.eye(len(A))
        scale = loops.sum(axis=1) ** -0.5
        A_hat = scale[:, None] * loops * scale
        return A_hat[victim] @ A_hat @ X.astype(np.float64) @ self.W

    def score(self, A, X, victim):
        logits = self.logits(A, X, victim).tolist()
        if self.rules.target is not None:
            wanted = logits.pop(self.rules.target)
            return wanted - max(logits)
        old = logits.pop(int(self.labels[victim]) if self.rules.labels else self.old[victim])
        return max(logits) - old

    def attack(self, victim):
        """Flip in place; returns links and features in order."""
        ends, links, features = self.ends(victim), [], []
        for _ in range(self.rules.link_flips):
            tried = {}
            for end, other in itertools.product(ends, range(len(self.A))):
                if other in (end, victim) or {end, other} in [set(pair) for pair in links]:
                    continue
                after = self.linked(end, other)
                if self.links_unnoticed(after):
                    tried[end, other] = self.score(after, self.X, victim)
            if tried:
                links.append(first_of_the_best(tried))
                self.A = self.linked(*links[-1])
        for _ in range(self.rules.feature_flips):
            tried = {}
            for node, column in itertools.product(ends, range(self.X.shape[1])):
                if (node, column) not in features and self.word_unnoticed(node, column):
                    tried[node, column] = self.score(self.A, self.flipped(node, column), victim)
            if tried:
                features.append(first_of_the_best(tried))
                self.X = self.flipped(*features[-1])
        return links, features

    def ends(self, victim):
        if not self.rules.influencers:
            return [victim]
        loss = {
            int(node): -self.score(self.linked(victim, node), self.X, victim) for node in np.flatnonzero(self.A[victim])
        }
        return sorted(sorted(loss, key=lambda node: (loss[node], node))[: self.rules.influencers])

    def linked(self, a, b):
        after = self.A.copy()
        after[a, b] = after[b, a] = 1 - after[a, b]
        return after

    def flipped(self, node, column):
        after = self.X.copy()
        if self.rules.flip == "as-seen":
            after[node, column] = np.float32(1) - after[node, column]
            return after
        words = after[node] > 0
        words[column] = not words[column]
        after[node] = words / max(words.sum(), 1)
        return after

    def links_unnoticed(self, after):
        newly_alone = (after.sum(axis=1) == 0) & (self.A.sum(axis=1) > 0)
        if self.rules.spare_last_links and newly_alone.any():
            return False
        if not self.rules.degree_test:
            return True
        tails = [[d for d in A.sum(axis=1) if d >= 2] for A in (self.clean_A, after)]
        first, second, both = (likelihood(tail) for tail in (*tails, tails[0] + tails[1]))
        return -2 * both + 2 * (first + second) < 0.004

    def word_unnoticed(self, node, column):
        words = np.flatnonzero(self.clean_X[node])
        if not self.rules.cooccurrence or column in words:
            return True
        here = self.clean_X > 0
        together = [[i != j and bool((here[:, i] & here[:, j]).any()) for j in range(here.shape[1])] for i in words]
        walks = [(row[column] / sum(row), 1 / sum(row)) for row in together if any(row)]
        return sum(walk for walk, _ in walks) > 0.5 * sum(most for _, most in walks)


def likelihood(tail):
    if not tail:
        return 0.0
    alpha = 1 + len(tail) / sum(math.log(d / 1.5) for d in tail)
    return len(tail) * (math.log(alpha) + alpha * math.log(2)) + (alpha + 1) * sum(math.log(d) for d in tail)


def first_of_the_best(tried):
    near = max(tried.values()) - 1e-10 * max(map(abs, tried.values()))
    return next(key for key, score in tried.items() if score >= near)


def build(seed: int, nodes: int, edges: list[tuple[int, int]], words: str) -> tuple[Graph, np.ndarray]:
    """A random graph and the weights of a surrogate; made outside of the strategy."""
    rng = np.random.default_rng(seed)
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2) % nodes
    present = rng.random((nodes, 7)) < 0.4
    X = np.where(present, rng.random((nodes, 7)), 0)
    if words == "binary":
        X = present * 1.0
    if words == "normalised":
        X = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    features = X.astype(np.float32) if seed % 2 else sp.csr_array(X.astype(np.float32))
    graph = Graph.from_edges(pairs, features, labels=rng.integers(0, 3, nodes), class_names=("a", "b", "c"))
    return graph, rng.normal(size=(7, 3))


def search(graph, W, rules, victims):
    """The flips that gvdn makes for each victim in turn, and the model that they were made in."""
    campaign = Setup(graph, LinearSurrogate(W), np.array(victims), rules)
    flips = [campaign.search.attack(campaign.model, v, g) for v, g in zip(victims, campaign.goals, strict=True)]
    return [(one.links, one.features) for one in flips], campaign.model


def assert_agreement(graph, W, rules, victims):
    brute = BruteForce(graph, W, rules)
    ours, model = search(graph, W, rules, victims)
    for victim, flips in zip(victims, ours, strict=True):
        assert flips == brute.attack(victim)
    after = model.changes().apply(graph)
    np.testing.assert_array_equal(after.adjacency.toarray(), brute.A)
    np.testing.assert_array_equal(after.dense_features(), brute.X)


ends = st.integers(0, 13)
edges = st.lists(st.tuples(ends, ends), max_size=30)
graphs = st.tuples(st.integers(0, 2**16), st.integers(6, 14), edges)
VARIANTS = {
    "direct": {},
    "influencers": {"influencers": 2},
    "direct, towards a class": {"target": 1},
    "influencers, towards a class": {"influencers": 3, "target": 2},
    "away from the label": {"labels": True},
}
CONSTRAINTS = {
    "unnoticed": {},
    "degrees only": {"cooccurrence": False, "spare_last_links": False},
    "words only": {"degree_test": False},
    "free": {"degree_test": False, "cooccurrence": False, "spare_last_links": False},
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("constraints", CONSTRAINTS.values(), ids=CONSTRAINTS)
@given(graphs)
def test_the_flips_are_those_of_brute_force(variant, constraints, parts):
    graph, W = build(*parts, words="real")
    assert_agreement(graph, W, dataclasses.replace(RULES, **constraints, **variant), [0, 3, 5])


@pytest.mark.parametrize("flip", ["as-seen", "binary"])
@given(graphs, st.sampled_from([0, 2]))
def test_the_flips_of_words_are_those_of_brute_force(flip, parts, influencers):
    graph, W = build(*parts, words="normalised")
    assert_agreement(graph, W, dataclasses.replace(RULES, influencers=influencers, flip=flip), [1, 2])


@given(graphs)
def test_in_a_binary_matrix_both_ways_to_flip_are_one(parts):
    graph, W = build(*parts, words="binary")
    seen, words = (search(graph, W, dataclasses.replace(RULES, flip=flip), [1, 2])[0] for flip in ("as-seen", "binary"))
    assert seen == words
    assert_agreement(graph, W, RULES, [1, 2])


@pytest.mark.parametrize("influencers", [0, 2])
def test_where_the_degree_test_refuses_some_links_and_admits_others_the_flips_still_agree(influencers):
    rng = np.random.default_rng(3)
    hubs = [(node, int(node * rng.random() ** 2)) for node in range(1, 50) for _ in range(2)]
    graph, W = build(1, 50, hubs, words="real")
    bound = dataclasses.replace(RULES, influencers=influencers)
    free = dataclasses.replace(bound, degree_test=False)
    assert_agreement(graph, W, bound, [20, 30, 40])
    links, free_links = ([flips[0] for flips in search(graph, W, rules, [20, 30, 40])[0]] for rules in (bound, free))
    assert links != free_links
    assert sum(map(len, links)) >= 6


@given(graphs)
def test_links_alone_and_features_alone(parts):
    graph, W = build(*parts, words="real")
    for alone in ({"link_flips": 0}, {"feature_flips": 0}):
        assert_agreement(graph, W, dataclasses.replace(RULES, **alone), [0, 4])


@given(graphs, ends, ends)
def test_every_row_of_the_closed_form_is_the_logits_after_that_flip(parts, victim, end):
    graph, W = build(*parts, words="real")
    victim, end = victim % graph.num_nodes, end % graph.num_nodes
    brute, model = BruteForce(graph, W, RULES), LinearisedGCN(graph, W)
    others = np.setdiff1d(np.arange(graph.num_nodes), [end, victim])
    by_hand = [brute.logits(brute.linked(end, other), brute.X, victim) for other in others]
    np.testing.assert_allclose(model.link_logits(victim, end, others), by_hand, atol=1e-12)


@given(graphs, st.lists(st.tuples(ends, ends), max_size=12))
def test_what_is_kept_depends_on_the_graph_and_not_on_the_way_to_it(parts, flips):
    graph, W = build(*parts, words="real")
    model = LinearisedGCN(graph, W)
    for a, b in flips:
        if a % graph.num_nodes != b % graph.num_nodes:
            model.flip_link(a % graph.num_nodes, b % graph.num_nodes)
    straight = LinearisedGCN(model.changes().apply(graph), W)
    np.testing.assert_array_equal(model.S, straight.S)
    np.testing.assert_array_equal(model.degrees, straight.degrees)


@given(graphs)
def test_each_on_its_own_graph_is_brute_force_on_a_fresh_copy(parts):
    graph, W = build(*parts, words="real")
    rules = dataclasses.asdict(RULES)
    receipts = list(attack_each(graph, np.arange(6), seed=0, surrogate=LinearSurrogate(W), victims=[2, 0], **rules))
    assert [receipt.victims.tolist() for receipt in receipts] == [[0], [2]]
    for receipt in receipts:
        brute = BruteForce(graph, W, RULES)
        brute.attack(int(receipt.victims[0]))
        after = replay(graph, receipt).graph
        np.testing.assert_array_equal(after.adjacency.toarray(), brute.A)
        np.testing.assert_array_equal(after.dense_features(), brute.X)


@given(graphs)
def test_the_perturbation_makes_the_graph_of_brute_force(parts):
    graph, W = build(*parts, words="real")
    done = perturb(
        graph, "nettack", np.arange(6), seed=0, surrogate=LinearSurrogate(W), victims=[0, 1], feature_flips=4
    )
    brute = BruteForce(graph, W, dataclasses.replace(RULES, link_flips=2))
    for victim in (0, 1):
        brute.attack(victim)
    np.testing.assert_array_equal(done.graph.adjacency.toarray(), brute.A)
    np.testing.assert_array_equal(done.graph.dense_features(), brute.X)
