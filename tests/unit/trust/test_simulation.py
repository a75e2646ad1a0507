"""Simulated perturbations: what is true of every episode, whatever its settings."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph
from gvdn.graph.graph import adjacency_from_pairs, edge_keys
from gvdn.trust.simulation import REGIMES, Episode, simulate
from gvdn.trust.student import Student, teach

SOME_LIE_AND_ARE_HIT = (0.5, 0.8)
FREE = np.arange(40, 240)
"""The nodes that the model was not trained on."""


def episode(
    graph: Graph, votes, student: Student, regime: tuple[float, float] = SOME_LIE_AND_ARE_HIT, seed: int = 0,
    free: np.ndarray = FREE,
) -> Episode:  # fmt: skip
    own = student.answers(graph.features, graph.ids)
    return simulate(graph, votes, votes(graph), own, student, free, regime, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def episodes(clean, votes, student) -> list[Episode]:
    return [episode(clean, votes, student, seed=seed) for seed in range(3)]


def keys(graph: Graph) -> np.ndarray:
    return edge_keys(graph.edges, graph.num_nodes)


def changed_rows(before: Graph, after: Graph) -> np.ndarray:
    return (before.dense_features() != after.dense_features()).any(axis=1)


# ---- links


def test_hostile_links_join_different_classes_and_were_not_there(clean, votes, episodes):
    classes = votes(clean).argmax(axis=1)
    for one in episodes:
        added = one.graph.edges[one.hostile]
        assert len(added) > 20
        assert (classes[added[:, 0]] != classes[added[:, 1]]).all()
        assert not np.isin(keys(one.graph)[one.hostile], keys(clean)).any()


def test_no_genuine_link_is_lost(clean, episodes):
    for one in episodes:
        assert np.array_equal(keys(one.graph)[~one.hostile], keys(clean))


def test_weights_of_genuine_links_stay_and_hostile_ones_weigh_one(clean, votes, student):
    values = np.random.default_rng(0).uniform(0.5, 2, clean.num_edges).astype(np.float32)
    weighted = dataclasses.replace(clean, adjacency=adjacency_from_pairs(clean.edges, 240, values))
    one = episode(weighted, votes, student)
    assert one.hostile.any()
    assert np.array_equal(one.graph.edge_weights[~one.hostile], values)
    assert (one.graph.edge_weights[one.hostile] == 1).all()


def test_all_links_of_arriving_nodes_and_all_hostile_ones_are_in_question(episodes):
    for one in episodes:
        judged = np.zeros(one.graph.num_edges, dtype=bool)
        judged[one.judged] = True
        assert judged[one.hostile].all()
        assert judged[one.new[one.graph.edges].any(axis=1)].all()
        between = ~one.new[one.graph.edges].any(axis=1)
        assert 0 < (judged & between & ~one.hostile).sum() < (between & ~one.hostile).sum() / 4


def test_there_are_hostile_links_at_arriving_nodes_and_at_others(episodes):
    at_new = np.concatenate([one.new[one.graph.edges[one.hostile]].any(axis=1) for one in episodes])
    assert at_new.any()
    assert not at_new.all()


def test_without_targets_no_link_is_hostile(clean, votes, student):
    one = episode(clean, votes, student, (0.5, 0.0))
    assert not one.hostile.any()
    assert np.array_equal(keys(one.graph), keys(clean))


def test_more_targets_mean_more_hostile_links(clean, votes, student):
    few, many = (episode(clean, votes, student, (0.0, hit)).hostile.sum() for hit in (0.1, 1.0))
    assert many > 3 * few


def test_hostile_links_harm_the_model(clean, votes, student):
    one, right = episode(clean, votes, student, (0.0, 1.0)), votes(clean).argmax(axis=1)
    after = votes(one.graph).argmax(axis=1)
    assert (after == right)[one.new].mean() < 0.9


# ---- arriving nodes


def test_only_nodes_that_the_model_was_not_trained_on_arrive(episodes):
    for one in episodes:
        assert one.new.any()
        assert set(np.flatnonzero(one.new).tolist()) <= set(FREE.tolist())
        assert one.new.mean() < 0.5


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(240),
        np.arange(240) - 100,
        np.array([f"node {number}" for number in range(240)]),
        np.array(["ä" * (1 + number % 5) + str(number) for number in range(240)]),
    ],
    ids=["numbers", "negative numbers", "text", "text of many lengths"],
)
def test_arriving_nodes_have_fresh_ids_and_the_others_keep_theirs(clean, votes, ids):
    named = dataclasses.replace(clean, ids=ids)
    quick = teach(named.features, named.ids, votes(named), seed=0, device=torch.device("cpu"))
    one = episode(named, votes, quick)
    assert np.array_equal(one.graph.ids[~one.new], ids[~one.new])
    assert not np.isin(one.graph.ids[one.new], ids).any()
    assert len(np.unique(one.graph.ids)) == 240
    assert (quick.half_of(one.graph.ids[one.new]) == -1).all()


def test_stored_answers_are_those_of_the_graph_before_they_arrived(clean, votes, episodes):
    """Built again from the links that are not in question, and the rows of the clean graph."""
    for one in episodes:
        rest = np.flatnonzero(~one.new)
        settled = np.delete(one.graph.edges, one.judged, axis=0)
        before = dataclasses.replace(clean, adjacency=adjacency_from_pairs(settled, 240)).subgraph(rest)
        assert np.allclose(one.stored[rest], votes(before))


def test_nothing_is_stored_of_arriving_nodes_but_the_prior(clean, votes, episodes):
    for one in episodes:
        assert np.allclose(one.stored[one.new], votes(clean).mean(axis=0))


def test_a_model_never_sees_an_arriving_node_under_its_old_id_together_with_hostile_links(clean, votes, student):
    """A model that answers by id, as one that stores embeddings does, must not be asked of old acquaintances."""
    seen = []

    def spy(graph: Graph) -> np.ndarray:
        seen.append(graph)
        return votes(graph)

    own = student.answers(clean.features, clean.ids)
    rng = np.random.default_rng(0)
    one = simulate(clean, spy, votes(clean), own, student, FREE, SOME_LIE_AND_ARE_HIT, rng)
    assert seen
    for graph in seen:
        assert not np.isin(clean.ids[one.new], graph.ids).any()


# ---- rows


@pytest.mark.parametrize("regime", [regime for regime in REGIMES if regime[0] == 0])
def test_regimes_without_liars_leave_the_rows_alone(clean, votes, student, regime):
    one = episode(clean, votes, student, regime)
    assert not one.lies.any()
    assert not changed_rows(clean, one.graph).any()


def test_there_are_regimes_without_any_perturbation_with_links_alone_and_with_rows_and_links():
    kinds = {(liars > 0, hit > 0) for liars, hit in REGIMES}
    assert kinds >= {(False, False), (False, True), (True, True)}


def test_only_rows_of_arriving_nodes_lie(clean, episodes):
    for one in episodes:
        assert one.lies.any()
        assert not (one.lies & ~one.new).any()
        assert not (changed_rows(clean, one.graph) & ~one.lies).any()


def test_rows_that_lie_speak_less_for_their_class(clean, votes, student):
    one = episode(clean, votes, student, (1.0, 0.0))
    right, lies = votes(clean).argmax(axis=1), np.flatnonzero(one.lies)
    assert len(lies) > 5
    before, after = (student.answers(graph.features, clean.ids)[lies, right[lies]] for graph in (clean, one.graph))
    assert after.mean() < before.mean() - 0.2
    assert changed_rows(clean, one.graph)[lies].mean() > 0.8


def test_rows_that_lie_are_finite_and_not_empty(clean, votes, student):
    one = episode(clean, votes, student, (1.0, 0.0))
    rows = one.graph.dense_features()[one.lies]
    assert np.isfinite(rows).all()
    assert (rows.any(axis=1)).mean() > 0.9


def test_dense_and_sparse_features_lie_alike(clean, votes, student):
    sparse = dataclasses.replace(clean, features=sp.csr_array(clean.features))
    one, other = (episode(graph, votes, student) for graph in (clean, sparse))
    assert sp.issparse(other.graph.features)
    assert np.array_equal(one.lies, other.lies)
    assert np.allclose(one.graph.dense_features(), other.graph.dense_features(), atol=1e-5)


# ---- any graph


def test_the_same_generator_gives_the_same_episode(clean, votes, student, episodes):
    again, other = (episode(clean, votes, student, seed=seed) for seed in (0, 7))
    assert again.graph.hash == episodes[0].graph.hash
    for name in ("new", "stored", "judged", "hostile", "lies"):
        assert np.array_equal(getattr(again, name), getattr(episodes[0], name))
    assert other.graph.hash != again.graph.hash


def test_the_clean_graph_is_left_as_it_was(clean, votes, student):
    before = clean.hash
    episode(clean, votes, student)
    fresh = dataclasses.replace(clean)
    assert fresh.hash == before


def test_a_graph_without_links(clean, votes, student):
    bare = dataclasses.replace(clean, adjacency=sp.csr_array((240, 240), dtype=np.float32))
    quiet, hit = episode(bare, votes, student, (0.0, 0.0)), episode(bare, votes, student, (0.5, 1.0))
    assert quiet.graph.num_edges == 0
    assert hit.hostile.all()
    assert hit.hostile.size


def test_with_one_class_nothing_is_hostile(clean):
    def sure(graph: Graph) -> np.ndarray:
        return np.ones((graph.num_nodes, 1))

    quick = teach(clean.features, clean.ids, sure(clean), seed=0, device=torch.device("cpu"))
    one = episode(clean, sure, quick, (1.0, 1.0))
    assert not one.hostile.any()
    assert not one.lies.any()


def test_features_of_either_sign(clean, votes):
    features = np.random.default_rng(0).normal(size=(240, 5)).astype(np.float32)
    dense = dataclasses.replace(clean, features=features)

    def fixed(graph: Graph) -> np.ndarray:
        return np.full((graph.num_nodes, 3), 1 / 3) + 0.1 * np.eye(3)[np.arange(graph.num_nodes) % 3]

    quick = teach(features, dense.ids, fixed(dense), seed=0, device=torch.device("cpu"))
    one = episode(dense, fixed, quick, (1.0, 1.0))
    assert np.isfinite(one.graph.features).all()
    assert one.lies.any()
