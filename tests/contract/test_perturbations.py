"""What holds for every perturbation, on graphs that hypothesis generates."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, random_split
from gvdn.perturbations import PERTURBATIONS, LinearSurrogate, perturb, replay, save_receipt


def build(seed: int, nodes: int, edges: list[tuple[int, int]], sparse: bool) -> Graph:
    """A random graph; made outside of the strategy, since the type checker of the tests draws random numbers too."""
    rng = np.random.default_rng(seed)
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2) % nodes
    dense = np.where(rng.random((nodes, 6)) < 0.4, rng.random((nodes, 6)), 0).astype(np.float32)
    features = sp.csr_array(dense) if sparse else dense
    return Graph.from_edges(pairs, features, labels=rng.integers(0, 3, nodes), class_names=("a", "b", "c"))


ends = st.integers(0, 39)
graphs = st.tuples(
    st.integers(0, 2**16), st.integers(12, 40), st.lists(st.tuples(ends, ends), max_size=80), st.booleans()
)
kinds = st.sampled_from(sorted(PERTURBATIONS))
seeds = st.integers(0, 2**31)


class Follower(torch.nn.Module):
    """The smallest model to attack through: a node's logits are the weighted sum of its neighbours' random votes."""

    identity = "follower"

    def __init__(self) -> None:
        super().__init__()
        self.votes = torch.nn.Parameter(torch.from_numpy(np.random.default_rng(1).normal(size=(60, 3))).float())

    def module(self, graph: Graph) -> "Follower":
        return self

    def after(self, graph: Graph) -> "Follower":
        return self

    def forward(self, x, edge_index, edge_weight):
        heard = edge_weight[:, None] * self.votes[edge_index[1]]
        return self.votes[: len(x)].index_add(0, edge_index[0], heard)


def needs(kind: str, graph: Graph) -> dict[str, object]:
    """What a kind cannot do without: nettack needs a surrogate, and on a small graph rules that leave it something."""
    if kind in ("prbcd", "grbcd", "adaptive-prbcd"):
        return {"model": Follower(), "victims": [0, 1], "flips_per_victim": 2, "epochs": 5, "block_size": 30}
    if kind == "metattack":
        return {"inner_steps": 4, "flips_per_step": 2, "block_size": 30}
    if kind != "nettack":
        return {}
    W = np.random.default_rng(0).normal(size=(graph.num_features, graph.num_classes))
    rules = {"max_degree": 40, "degree_test": False, "feature_flips": 3 if graph.features.max() <= 1 else 0}
    named = {"victims": [0, 1]} if (graph.degrees == 0).any() else {}  # the draw passes over nodes without a neighbour
    return {"surrogate": LinearSurrogate(W)} | rules | named


FAMILY = [
    "adaptive-prbcd",
    "dice",
    "grbcd",
    "information-sparsity",
    "label-noise",
    "metattack",
    "natural-churn",
    "nettack",
]
FAMILY += ["node-injection", "prbcd", "random-connections", "wrong-links"]


def test_twelve_perturbations_are_registered():
    assert sorted(PERTURBATIONS) == FAMILY


@given(graphs, kinds, seeds)
def test_the_clean_graph_is_untouched(parts, kind, seed):
    graph = build(*parts)
    twin = Graph(graph.adjacency, graph.features, labels=graph.labels, class_names=graph.class_names)
    perturb(graph, kind, random_split(graph, seed=0), seed=seed, **needs(kind, graph))
    assert twin.hash == Graph(graph.adjacency, graph.features, labels=graph.labels, class_names=("a", "b", "c")).hash


@given(graphs, kinds, seeds)
def test_the_result_is_a_valid_graph_with_the_same_nodes_first_and_the_receipt_adds_up(parts, kind, seed):
    graph = build(*parts)
    done = perturb(graph, kind, random_split(graph, seed=0), seed=seed, **needs(kind, graph))
    again = Graph(done.graph.adjacency, done.graph.features, labels=done.graph.labels)  # is checked once more
    changes = done.receipt.changes
    assert again.num_nodes == done.graph.num_nodes == graph.num_nodes + len(changes.new_ids)
    assert done.graph.ids.tolist() == [*graph.ids.tolist(), *changes.new_ids.tolist()]
    assert done.graph.num_edges == graph.num_edges + len(done.added) - len(done.removed)
    before, after = ({tuple(edge) for edge in one.edges.tolist()} for one in (graph, done.graph))
    assert after - before == {tuple(edge) for edge in done.added.tolist()}
    assert before - after == {tuple(edge) for edge in done.removed.tolist()}
    rows = sp.csr_array(done.graph.features)
    difference = sp.csr_array(rows[: graph.num_nodes] - sp.csr_array(graph.features))
    assert set(difference.nonzero()[0]) <= set(changes.feature_rows)
    np.testing.assert_array_equal(rows[graph.num_nodes :].toarray().ravel(), changes.new_values.toarray().ravel())
    labels = done.graph.labels[: graph.num_nodes]
    assert set(np.flatnonzero(labels != graph.labels)) == set(changes.label_rows)
    assert (done.graph.labels[graph.num_nodes :] == -1).all()
    assert done.victims.max(initial=-1) < graph.num_nodes
    assert done.perturbators.max(initial=-1) < done.graph.num_nodes


@given(graphs, st.floats(0.05, 1.0), st.floats(0.05, 0.5), seeds)
def test_random_connections_use_their_budget_exactly(parts, rate, fraction, seed):
    graph = build(*parts)
    test = random_split(graph, seed=0).test
    victims = max(1, int(len(test) * fraction + 0.5))
    perturbators = max(1, int(victims * rate + 0.5))
    settings = {"rate": rate, "victim_fraction": fraction}
    if victims + perturbators > len(test):
        with pytest.raises(
            InvalidInput, match=f"for {victims} victims and {perturbators} perturbators, got {len(test)}"
        ):
            perturb(graph, "random-connections", test, seed=seed, **settings)
        return
    done = perturb(graph, "random-connections", test, seed=seed, **settings)
    assert (len(done.victims), len(done.perturbators)) == (victims, perturbators)
    for perturbator in done.perturbators:
        neighbours = set(graph.adjacency[[perturbator]].indices)
        eligible = len(set(done.victims) - neighbours)
        assert (done.added == perturbator).sum() == min(round(1 / rate), eligible)


@given(graphs, st.floats(0, 1), st.floats(0, 1), seeds)
def test_information_sparsity_uses_its_budget_exactly(parts, links, entries, seed):
    graph = build(*parts)
    test = random_split(graph, seed=0).test
    done = perturb(graph, "information-sparsity", test, seed=seed, link_fraction=links, feature_fraction=entries)
    incident = int(np.isin(graph.edges, test).any(axis=1).sum())
    assert len(done.removed) == int(incident * links + 0.5)
    before, after = (sp.csr_array(one.features)[test].count_nonzero() for one in (graph, done.graph))
    assert after == before - int(before * entries + 0.5)


@given(graphs, kinds, seeds)
def test_the_same_seed_gives_the_same_graph(parts, kind, seed):
    graph = build(*parts)
    split = random_split(graph, seed=0)
    first, second = (perturb(graph, kind, split, seed=seed, **needs(kind, graph)) for _ in range(2))
    assert first.graph.hash == second.graph.hash


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
def test_another_seed_gives_another_graph(kind, ring):
    split = random_split(ring, seed=0, train=0.3)
    given = needs(kind, ring)
    assert len({perturb(ring, kind, split, seed=seed, **given).graph.hash for seed in range(8)}) > 4


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
@pytest.mark.parametrize("name", ["ring", "barbell"])
def test_a_saved_receipt_replays_to_the_identical_graph(kind, name, request, tmp_path):
    graph = request.getfixturevalue(name)
    done = perturb(graph, kind, random_split(graph, seed=0, train=0.3), seed=1, **needs(kind, graph))
    save_receipt(done.receipt, tmp_path)
    again = replay(graph, tmp_path)
    assert again.graph.hash == done.graph.hash
    assert again.victims.tolist() == done.victims.tolist()
    assert again.perturbators.tolist() == done.perturbators.tolist()
    assert again.added.tolist() == done.added.tolist()


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
def test_an_unknown_setting_lists_the_known_ones(kind, ring):
    with pytest.raises(InvalidInput, match=f"unknown setting 'strength' of {kind}.*known: "):
        perturb(ring, kind, np.arange(60), seed=0, strength=3)


@pytest.mark.parametrize("kind", sorted(PERTURBATIONS))
@pytest.mark.parametrize("candidates", [[], [60], [-1]])
def test_candidates_that_do_not_exist_are_refused(kind, candidates, ring):
    with pytest.raises(InvalidInput, match="expected"):
        perturb(ring, kind, np.array(candidates, dtype=np.int64), seed=0)


def test_an_unknown_kind_lists_the_family(ring):
    with pytest.raises(InvalidInput, match="unknown perturbation 'random-connection'; did you mean"):
        perturb(ring, "random-connection", np.arange(60), seed=0)
