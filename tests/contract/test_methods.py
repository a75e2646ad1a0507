"""What holds for every method that is trained: the same numbers for the same seed, and no label that it may not see."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from gvdn.methods.fitted import Fitted
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import SMALL, content, mislabelled, small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.contract import METHODS, Access

NAMES = [
    *("gcn-jaccard", "gcn-svd", "dropedge", "grand", "rgcn", "prognn", "mc-dropout", "graphss", "lindt", "gvdn"),
    *("gcn", "gcn-retrained", "mlp", "snapshot"),
]
BOTH = ("afterwards", "in training")
NOBODY = np.empty(0, dtype=np.int64)


# ---- the family


def test_the_family_has_ten_methods_and_four_reference_rows():
    assert list(METHODS) == NAMES
    assert {name for name, _ in SMALL.values()} == set(NAMES), "a method that is registered is tested"


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_found_by_the_name_it_carries(name):
    cls = METHODS[name]
    assert cls.name == name
    assert issubclass(cls, Fitted)
    assert cls.__doc__


def test_every_method_says_what_it_is_given():
    given = {name: METHODS[name].access for name in NAMES}
    assert all(isinstance(access, Access) for access in given.values())
    stored = {"prognn", "graphss", "lindt", "gvdn", "snapshot"}  # edges' weights, answers, embeddings: all by id
    assert {name for name, access in given.items() if access.snapshot} == stored
    meetings = {name: access.perturbed for name, access in given.items() if access.perturbed != BOTH}
    assert meetings == {"gcn-retrained": ("in training",), "snapshot": ("afterwards",)}


def test_a_method_without_the_snapshot_knows_no_node_by_its_name(fitted, perturbed):
    """What was computed on the clean graph for a node can only be found by its id."""
    strangers = dataclasses.replace(perturbed, ids=np.array([f"s{node}" for node in range(60)]))
    same = np.array_equal(fitted.predict_proba(strangers), fitted.predict_proba(perturbed))
    # GraphSS, LInDT and GVDN look at what they stored when they recover; W_z of GVDN is there before.
    assert same or fitted.access.snapshot


# ---- learning and answering


def test_probabilities_sum_to_one_on_isolated_nodes(make, isolated):
    split = random_split(isolated, seed=0, train=0.4, stratified=True)
    probs = make(epochs=3).fit(isolated, split, seed=0).predict_proba(isolated)
    assert probs.shape == (14, 2)
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1)


def test_same_seed_same_probabilities(make, fitted, ring, split):
    with torch.random.fork_rng():
        torch.manual_seed(99)  # whatever the global generator says
        second, other = (make().fit(ring, split, seed=seed).predict_proba(ring) for seed in (0, 1))
    assert np.array_equal(fitted.predict_proba(ring), second)
    assert not np.allclose(second, other)


def test_a_second_fit_forgets_the_first(make, fitted, ring, barbell, split):
    method = make(epochs=2).fit(barbell, random_split(barbell, seed=0, stratified=True), seed=3)
    method.epochs = make().epochs
    again = method.fit(ring, split, seed=0)
    assert again is method
    assert np.array_equal(again.predict_proba(ring), fitted.predict_proba(ring))


def test_asking_twice_gives_the_same_answer(fitted, ring):
    assert np.array_equal(fitted.predict_proba(ring), fitted.predict_proba(ring))
    assert fitted.predict(ring).tolist() == fitted.predict_proba(ring).argmax(axis=1).tolist()


def test_classes_that_the_features_give_away_are_learned(make, barbell):
    split = random_split(barbell, seed=0, train=0.3, val=0.0, stratified=True)
    probs = make(epochs=40, learning_rate=0.05, dropout=0.0).fit(barbell, split, seed=0).predict_proba(barbell)
    assert (probs.argmax(axis=1) == barbell.labels)[split.test].mean() >= 0.9


def test_what_is_kept_is_what_was_scored_and_the_earliest_of_the_best(word, fitted, ring, split):
    # MC Dropout chooses its epoch by the answer without dropout, which is the mean of draws that drop nothing.
    model = fitted.set_params(dropout=0.0) if word == "mc-dropout" else fitted
    scores = [record["val"] for record in fitted.outcome_.history]
    assert fitted.outcome_.epoch == scores.index(max(scores))
    assert fitted.outcome_.score == max(scores)
    assert len(scores) == fitted.rounds()
    right = (model.predict(ring) == ring.labels)[split.val].mean()
    assert right == pytest.approx(fitted.outcome_.score)


def test_another_graph_over_the_same_features_can_be_predicted(fitted, ring):
    probs = fitted.predict_proba(ring.subgraph(np.arange(20, 45)))
    assert probs.shape == (25, 3)
    np.testing.assert_allclose(probs.sum(axis=1), 1)


def test_the_order_of_the_nodes_does_not_matter(word, fitted, ring):
    # MC Dropout draws by position, so its answers move with the nodes unless it draws nothing.
    model = fitted.set_params(dropout=0.0) if word == "mc-dropout" else fitted
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(model.predict_proba(ring.subgraph(order)), model.predict_proba(ring)[order], atol=1e-5)


def test_dense_features_are_sparse_ones_written_out(word, fitted, ring):
    # MC Dropout draws over what is kept of the features, which is not the same in both.
    model = fitted.set_params(dropout=0.0) if word == "mc-dropout" else fitted
    dense = dataclasses.replace(ring, features=ring.features.toarray())
    np.testing.assert_allclose(model.predict_proba(dense), model.predict_proba(ring), atol=1e-5)


def test_a_representation_has_a_row_for_every_node(fitted, ring):
    part = ring.subgraph(np.arange(10, 30))
    assert fitted.embed(part).shape == (20, 8)
    assert np.isfinite(fitted.embed(part)).all()
    assert np.array_equal(fitted.embed(ring), fitted.embed(ring))


# ---- who may see which label


def test_test_labels_are_never_read(make, fitted, ring, split):
    wrong = mislabelled(ring, split.test)
    other = make().fit(wrong, split, seed=0)
    assert np.array_equal(fitted.predict_proba(ring), other.predict_proba(wrong))
    assert fitted.outcome_ == other.outcome_


def test_validation_labels_choose_the_epoch_and_are_in_no_loss(make, fitted, ring, split):
    labels = ring.labels.copy()
    labels[split.val] = -1
    misled = make().fit(dataclasses.replace(ring, labels=labels), split, seed=0)
    honest, other = ([dict(record) for record in model.outcome_.history] for model in (fitted, misled))
    scores = [[record.pop("val") for record in history] for history in (honest, other)]
    assert honest == other
    assert max(scores[0]) > max(scores[1]) == 0


def test_without_a_validation_set_only_training_labels_matter(make, ring, split):
    alone = Split(split.train, NOBODY, NOBODY)
    rest = np.setdiff1d(np.arange(60), split.train)
    wrong = (mislabelled(ring, rest), mislabelled(ring, split.train))
    honest, same, other = (make(epochs=3).fit(graph, alone, seed=0).predict_proba(ring) for graph in (ring, *wrong))
    assert np.array_equal(honest, same)
    assert not np.allclose(honest, other)


# ---- what is left untouched


def test_fit_leaves_the_graph_alone(make, ring, barbell, split):
    for graph, parts in ((ring, split), (barbell, random_split(barbell, seed=0, stratified=True))):
        before = content(graph)
        make(epochs=3).fit(graph, parts, seed=0).predict_proba(graph)
        assert content(graph) == before


def test_the_global_generators_are_given_back(make, ring, split):
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    method = make(epochs=2).fit(ring, split, seed=0)
    method.predict_proba(ring)
    method.embed(ring)
    if hasattr(method, "uncertainty"):
        method.uncertainty(ring, samples=2)
    if hasattr(method, "recover"):
        method.recover(ring).predict_proba(ring)
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert np.random.get_state()[1].tolist() == numpy_before  # noqa: NPY002


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


def test_the_split_of_a_larger_graph_is_refused(make, ring, split):
    with pytest.raises(InvalidInput, match="the split speaks of node 5[0-9], but ring has 20; split it anew"):
        make().fit(ring.subgraph(np.arange(20)), split, seed=0)


def test_other_features_than_those_of_the_fit_are_a_clear_error(fitted, barbell):
    with pytest.raises(InvalidInput, match="the model was fitted on 5 features, got 4 in barbell"):
        fitted.predict_proba(barbell)


def test_swapped_columns_are_named(make, barbell):
    split = random_split(barbell, seed=0, stratified=True)
    named = dataclasses.replace(barbell, feature_names=("a", "b", "c", "d"))
    swapped = dataclasses.replace(barbell, feature_names=("a", "c", "b", "d"))
    with pytest.raises(InvalidInput, match="feature column 2 was 'b' when the model was fitted, got 'c' in barbell"):
        make(epochs=1).fit(named, split, seed=0).predict_proba(swapped)


# ---- graphs at the edge of what is a graph


def tiny_graphs() -> dict[str, tuple[Graph, Split]]:
    features = np.random.default_rng(0).random((6, 3)).astype(np.float32)
    edge = Graph.from_edges(np.array([[0, 1]]), features[:2], labels=np.array([0, 1]))
    lonely_class = Graph.from_edges(np.array([[0, 1], [1, 2], [2, 3]]), features, labels=np.array([0, 0, 0, 0, 1, 0]))
    no_edges = Graph.from_edges(np.empty((0, 2), dtype=np.int64), features, labels=np.array([0, 1] * 3))
    mute = Graph.from_edges(np.array([[0, 1], [2, 3]]), np.zeros((6, 3)), labels=np.array([0, 1] * 3))
    empty_class = dataclasses.replace(no_edges, class_names=("a", "b", "nobody"))
    parts = Split(np.array([0, 1, 4]), np.array([2]), np.array([3, 5]))
    return {
        "one edge": (edge, Split(np.array([0, 1]), NOBODY, NOBODY)),
        "a class with one node": (lonely_class, parts),
        "no edges": (no_edges, parts),
        "all features zero": (mute, parts),
        "a class without a node": (empty_class, parts),
    }


@pytest.mark.parametrize("kind", list(tiny_graphs()))
def test_degenerate_graphs_train_and_recover_without_nan(kind, make):
    graph, parts = tiny_graphs()[kind]
    model = make(epochs=3).fit(graph, parts, seed=0)
    for one in (model, model.recover(graph)) if hasattr(model, "recover") else (model,):
        probs = one.predict_proba(graph)
        assert probs.shape == (graph.num_nodes, graph.num_classes)
        np.testing.assert_allclose(probs.sum(axis=1), 1)


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


@pytest.mark.parametrize("word", list(SMALL))
@settings(max_examples=4)
@given(parts)
def test_any_graph_trains_without_a_loss_or_a_probability_that_is_none(word, given):
    graph = build(*given)
    nodes = np.arange(graph.num_nodes)
    method = small_method(word, epochs=4).fit(graph, Split(nodes[:4], nodes[4:6], nodes[6:]), seed=0)
    np.testing.assert_allclose(method.predict_proba(graph).sum(axis=1), 1)
    if hasattr(method, "recover"):
        np.testing.assert_allclose(method.recover(graph).predict_proba(graph).sum(axis=1), 1)
