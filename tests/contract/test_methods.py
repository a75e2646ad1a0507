"""What holds for every method that is trained: the same numbers for the same seed, and no label that it may not see."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.gnn import GNN
from gvdn.methods.gvdn import GVDN
from gvdn.methods.rgcn import RGCN
from gvdn.perturbations import perturb

METHODS = {
    "gvdn": lambda: GVDN(hidden=8, epochs=10, learning_rate=0.05, recovery_epochs=6),
    "gcn": lambda: GNN(aggregator="gcn", hidden=8, epochs=10),
    "sgc": lambda: GNN(aggregator="sgc", hidden=8, epochs=10),
    "sage": lambda: GNN(aggregator="sage", hidden=8, epochs=10),
    "gat": lambda: GNN(aggregator="gat", hidden=8, epochs=10),
    "rgcn": lambda: RGCN(hidden=8, epochs=10),
}
NOBODY = np.empty(0, dtype=np.int64)


@pytest.fixture(params=list(METHODS))
def make(request):
    return METHODS[request.param]


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


def mislabelled(graph: Graph, nodes: np.ndarray) -> Graph:
    """The same graph, except that these nodes carry the next class."""
    labels = graph.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % graph.num_classes
    return dataclasses.replace(graph, labels=labels)


def content(graph: Graph) -> str:
    """A hash of what is there now, not of what was there when somebody asked first."""
    return Graph(
        graph.adjacency, graph.features, labels=graph.labels, ids=graph.ids, class_names=graph.class_names
    ).hash


def test_probabilities_sum_to_one_on_isolated_nodes(make, isolated):
    split = random_split(isolated, seed=0, train=0.4, stratified=True)
    probs = make().fit(isolated, split, seed=0).predict_proba(isolated)
    assert probs.shape == (14, 2)
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1)


def test_same_seed_same_probabilities(make, ring, split):
    first, second, other = (make().fit(ring, split, seed=seed).predict_proba(ring) for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.allclose(first, other)


def test_a_second_fit_forgets_the_first(make, ring, barbell, split):
    method = make().fit(barbell, random_split(barbell, seed=0, stratified=True), seed=3)
    again = method.fit(ring, split, seed=0)
    assert again is method
    assert np.array_equal(again.predict_proba(ring), make().fit(ring, split, seed=0).predict_proba(ring))


def test_asking_twice_gives_the_same_answer(make, ring, split):
    method = make().fit(ring, split, seed=0)
    assert np.array_equal(method.predict_proba(ring), method.predict_proba(ring))


def test_classes_that_the_features_give_away_are_learned(make, barbell):
    method = dataclasses.replace(make(), epochs=40)
    split = random_split(barbell, seed=0, train=0.3, stratified=True)
    probs = method.fit(barbell, split, seed=0).predict_proba(barbell)
    assert (probs.argmax(axis=1) == barbell.labels)[split.test].mean() >= 0.9


def test_another_graph_over_the_same_features_can_be_predicted(make, ring, split):
    probs = make().fit(ring, split, seed=0).predict_proba(ring.subgraph(np.arange(20, 45)))
    assert probs.shape == (25, 3)
    np.testing.assert_allclose(probs.sum(axis=1), 1)


def test_the_order_of_the_nodes_does_not_matter(make, ring, split):
    method, order = make().fit(ring, split, seed=0), np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(method.predict_proba(ring.subgraph(order)), method.predict_proba(ring)[order], atol=1e-5)


# ---- who may see which label


def test_test_labels_are_never_read(make, ring, split):
    honest = make().fit(ring, split, seed=0)
    other = make().fit(mislabelled(ring, split.test), split, seed=0)
    assert np.array_equal(honest.predict_proba(ring), other.predict_proba(mislabelled(ring, split.test)))
    assert honest.outcome_ == other.outcome_


def test_validation_labels_choose_the_epoch_and_are_in_no_loss(make, ring, split):
    labels = ring.labels.copy()
    labels[split.val] = 0
    honest, other = (
        make().fit(graph, split, seed=0).outcome_.history for graph in (ring, dataclasses.replace(ring, labels=labels))
    )
    scores = [[record.pop("val") for record in history] for history in (honest, other)]
    assert honest == other
    assert scores[0] != scores[1]


def test_without_a_validation_set_only_training_labels_matter(make, ring, split):
    alone = Split(split.train, NOBODY, NOBODY)
    rest = np.setdiff1d(np.arange(60), split.train)
    probs = [make().fit(graph, alone, seed=0).predict_proba(ring) for graph in (ring, mislabelled(ring, rest))]
    assert np.array_equal(*probs)


def test_training_labels_do_matter(make, ring, split):
    alone = Split(split.train, NOBODY, NOBODY)
    probs = [make().fit(graph, alone, seed=0).predict_proba(ring) for graph in (ring, mislabelled(ring, split.train))]
    assert not np.allclose(*probs)


@pytest.mark.parametrize("labels", [False, True])
def test_recovery_reads_no_label_of_the_perturbed_graph(labels, ring, split):
    fitted = METHODS["gvdn"]().fit(ring, split, seed=0)
    perturbed = perturb(ring, "random-connections", split, seed=1, victim_fraction=0.3, rate=0.2).graph
    honest = fitted.recover(perturbed, labels=labels).predict_proba(perturbed)
    liars = [np.concatenate([split.val, split.test]), np.arange(60)]
    for liar in liars:
        wrong = mislabelled(perturbed, liar)
        assert np.array_equal(fitted.recover(wrong, labels=labels).predict_proba(wrong), honest)
    unlabelled = dataclasses.replace(perturbed, labels=np.full(60, -1))
    assert np.array_equal(fitted.recover(unlabelled, labels=labels).predict_proba(unlabelled), honest)


def test_recovery_uses_the_training_labels_only_when_told_to(ring, split):
    fitted, misled = (METHODS["gvdn"]().fit(ring, split, seed=0) for _ in range(2))
    misled.train_labels_ = (fitted.train_labels_ + 1) % 3
    for labels, same in ((False, True), (True, False)):
        probs = [model.recover(ring, labels=labels).predict_proba(ring) for model in (fitted, misled)]
        assert np.array_equal(*probs) == same


# ---- what is left untouched


def test_fit_leaves_the_graph_alone(make, ring, barbell, split):
    for graph, parts in ((ring, split), (barbell, random_split(barbell, seed=0, stratified=True))):
        before = content(graph)
        make().fit(graph, parts, seed=0).predict_proba(graph)
        assert content(graph) == before


def test_recovery_leaves_the_graph_alone(ring, split):
    perturbed = perturb(ring, "random-connections", split, seed=1).graph
    before = content(perturbed)
    METHODS["gvdn"]().fit(ring, split, seed=0).recover(perturbed).predict_proba(perturbed)
    assert content(perturbed) == before


def test_the_global_generator_is_given_back(make, ring, split):
    before = torch.get_rng_state()
    method = make().fit(ring, split, seed=0)
    method.predict_proba(ring)
    if isinstance(method, GVDN):
        method.recover(ring).uncertainty(ring, samples=2)
    assert torch.equal(torch.get_rng_state(), before)


# ---- what cannot be learned from


def test_a_one_class_training_set_is_a_clear_error(make, barbell):
    split = Split(np.arange(5), np.arange(5, 8), np.arange(8, 20))
    with pytest.raises(InvalidInput, match="expected training nodes of at least two classes, got only '0' in barbell"):
        make().fit(barbell, split, seed=0)


def test_a_graph_without_features_is_a_clear_error(make, barbell):
    bare = dataclasses.replace(barbell, features=np.empty((20, 0), dtype=np.float32))
    with pytest.raises(InvalidInput, match="the graph barbell has no features; give its nodes at least one"):
        make().fit(bare, random_split(barbell, seed=0, stratified=True), seed=0)


def test_an_unlabelled_training_node_is_named(make, ring, split):
    labels = ring.labels.copy()
    labels[split.train[2]] = -1
    with pytest.raises(InvalidInput, match=f"the training node {ring.ids[split.train[2]]} has no label"):
        make().fit(dataclasses.replace(ring, labels=labels), split, seed=0)


def test_other_features_than_those_of_the_fit_are_a_clear_error(make, ring, barbell, split):
    with pytest.raises(InvalidInput, match="the model was fitted on 5 features, got 4 in barbell"):
        make().fit(ring, split, seed=0).predict_proba(barbell)


# ---- graphs that hypothesis thinks of


ends = st.integers(0, 19)
parts = st.tuples(
    st.integers(0, 2**16), st.integers(8, 20), st.lists(st.tuples(ends, ends), max_size=50), st.booleans()
)


def build(seed: int, nodes: int, edges: list[tuple[int, int]], sparse: bool) -> Graph:
    """A random graph with two classes at least; made outside of the strategy."""
    rng = np.random.default_rng(seed)
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2) % nodes
    dense = np.where(rng.random((nodes, 6)) < 0.3, 5 * rng.random((nodes, 6)), 0).astype(np.float32)
    labels = np.concatenate([[0, 1], rng.integers(0, 3, nodes - 2)])
    return Graph.from_edges(pairs, sp.csr_array(dense) if sparse else dense, labels=labels, class_names=("a", "b", "c"))


@pytest.mark.parametrize("name", list(METHODS))
@settings(max_examples=4)
@given(parts)
def test_any_graph_trains_without_a_loss_or_a_probability_that_is_none(name, given):
    graph = build(*given)
    nodes = np.arange(graph.num_nodes)
    method = METHODS[name]().fit(graph, Split(nodes[:4], nodes[4:6], nodes[6:]), seed=0)
    probs = method.predict_proba(graph)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    if isinstance(method, GVDN):
        np.testing.assert_allclose(method.recover(graph).predict_proba(graph).sum(axis=1), 1)
