"""The trust model on nodes that arrive with wrong links or with a row of another class.

It is fitted without these nodes; their perturbations are made here, not by the simulation that it was fitted on.
"""

import dataclasses
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from arrivals import SIZE, VOTES, World, fitted_on, made_world, scene_of
from sklearn.metrics import roc_auc_score

from gvdn.graph import Graph
from gvdn.graph.graph import edge_keys
from gvdn.trust.model import Judgement, TrustModel
from gvdn.trust.rows import l1_norms
from gvdn.trust.simulation import simulate


@pytest.fixture(scope="module")
def world() -> World:
    return made_world()


@pytest.fixture(scope="module")
def by_links(world) -> tuple[Graph, Judgement]:
    later = world.later(links=True)
    return later, world.judged(later)


@pytest.fixture(scope="module")
def by_rows(world) -> tuple[Graph, Judgement]:
    later = world.later(rows=True)
    return later, world.judged(later)


def calibration_error(probs: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    """The expected calibration error: the mean distance of probability and frequency over bins of equal width."""
    where = np.minimum((probs * bins).astype(int), bins - 1)
    parts = [(where == one) for one in range(bins) if (where == one).any()]
    return float(sum(part.mean() * abs(probs[part].mean() - truth[part].mean()) for part in parts))


# ---- links


def test_wrong_links_of_new_nodes_are_told_from_genuine_ones(world, by_links):
    later, judgement = by_links
    hostile = world.hostile(later)[judgement.scene.judged]
    assert hostile.sum() > 100
    assert roc_auc_score(~hostile, judgement.in_question) > 0.9


def test_the_probability_of_a_link_is_calibrated(world, by_links):
    later, judgement = by_links
    genuine = ~world.hostile(later)[judgement.scene.judged]
    assert calibration_error(judgement.in_question, genuine) < 0.1


def test_nodes_with_wrong_links_have_a_larger_expected_share_of_hostile_links(world, by_links):
    share = by_links[1].hostile_share
    assert ((share >= 0) & (share <= 1)).all()
    assert roc_auc_score(world.hit[world.new], share[world.new]) > 0.9


def test_few_links_are_doubted_where_nothing_is_perturbed(world):
    judgement = world.judged(world.whole)
    assert judgement.in_question.mean() > 0.8
    assert judgement.hostile_share[world.new].mean() < 0.2


def test_the_probability_of_a_link_lies_between_those_with_and_without_rows(by_links, by_rows):
    for _, judgement in (by_links, by_rows):
        both = np.stack([judgement.without_rows, judgement.with_rows])
        assert (judgement.in_question >= both.min(axis=0) - 1e-9).all()
        assert (judgement.in_question <= both.max(axis=0) + 1e-9).all()
        assert np.array_equal(judgement.genuine[judgement.scene.judged], judgement.in_question)


# ---- rows


def test_a_row_copied_from_another_class_is_judged_less_honest(world, by_rows):
    """The mean of three fits: with sixty rows, single seeds differ by more than a tenth."""
    areas, lower = [], []
    for model in (world.model, *(fitted_on(world.clean, VOTES, seed=seed) for seed in (1, 2))):
        fitted = dataclasses.replace(world, model=model)
        after, before = (fitted.judged(graph).honest for graph in (by_rows[0], world.whole))
        areas.append(roc_auc_score(~world.lying[world.new], after[world.new]))
        lower.append((after < before)[world.lying].mean())
    assert np.mean(areas) > 0.85
    assert np.mean(lower) > 0.9


def test_rows_that_are_not_in_question_are_honest(world, by_rows):
    assert (by_rows[1].honest[~world.new] == 1).all()


def test_where_only_links_lie_rows_are_believed(world, by_links):
    assert by_links[1].honest[world.new].mean() > 0.7


# ---- what enters the propagation


def test_settled_links_keep_their_weight(world, by_links):
    later, judgement = by_links
    weighed, n = judgement.weighed(later), later.num_nodes
    settled = np.delete(later.edges, judgement.scene.judged, axis=0)
    assert np.isin(edge_keys(settled, n), edge_keys(weighed.edges, n)).all()
    assert (weighed.weights_of(settled) == 1).all()


def test_weights_of_the_graph_are_multiplied(world, by_links):
    later, judgement = by_links
    plain = judgement.weighed(later)
    double = judgement.weighed(dataclasses.replace(later, adjacency=sp.csr_array(2 * later.adjacency)))
    assert np.array_equal(plain.edges, double.edges)
    assert np.allclose(2 * plain.edge_weights, double.edge_weights)


def test_hostile_links_are_dropped_or_weigh_little(world, by_links):
    later, judgement = by_links
    weighed = judgement.weighed(later)
    hostile, judged = world.hostile(later), judgement.scene.judged
    there = np.isin(edge_keys(later.edges, SIZE), edge_keys(weighed.edges, SIZE))
    weight = np.where(there, weighed.weights_of(later.edges), 0)
    assert weight[hostile].mean() < 0.25
    assert weight[np.intersect1d(judged, np.flatnonzero(~hostile))].mean() > 0.75
    assert weighed.num_edges < later.num_edges
    assert not there[hostile].all()


def test_rows_in_question_are_multiplied_by_their_sharpened_honesty(world, by_rows):
    later, judgement = by_rows
    h = np.linspace(0, 1, SIZE)
    after = dataclasses.replace(judgement, honest=h).weighed(later).dense_features()
    factor = np.where(world.new, h**4 / (h**4 + (1 - h) ** 4), 1)
    assert np.allclose(after, factor[:, None] * later.dense_features(), atol=1e-6)
    assert np.array_equal(after[~world.new], later.dense_features()[~world.new])


def test_no_link_is_added_and_ids_stay(by_links):
    later, judgement = by_links
    weighed = judgement.weighed(later)
    assert np.array_equal(weighed.ids, later.ids)
    assert np.isin(edge_keys(weighed.edges, SIZE), edge_keys(later.edges, SIZE)).all()
    assert (weighed.edge_weights <= later.edge_weights.max() + 1e-6).all()


# ---- answers


def test_blended_answers_are_better_than_asked_ones(world, by_links):
    (later, judgement), nodes = by_links, np.flatnonzero(world.hit)
    blended = world.model.blended(judgement, VOTES(judgement.weighed(later)), nodes)
    assert np.allclose(blended.sum(axis=1), 1)
    assert world.accuracy(blended, nodes) > world.accuracy(VOTES(later)[nodes], nodes) + 0.1


def test_blended_answers_do_not_follow_a_row_that_lies(world, by_rows):
    (later, judgement), nodes = by_rows, np.flatnonzero(world.lying)
    blended = world.model.blended(judgement, VOTES(judgement.weighed(later)), nodes)
    assert world.accuracy(judgement.scene.own[nodes], nodes) < 0.3
    assert world.accuracy(blended, nodes) > 0.8


def test_blended_answers_do_no_harm_where_nothing_is_perturbed(world):
    nodes, judgement = np.flatnonzero(world.new), world.judged(world.whole)
    blended = world.model.blended(judgement, VOTES(judgement.weighed(world.whole)), nodes)
    assert world.accuracy(blended, nodes) >= world.accuracy(VOTES(world.whole)[nodes], nodes) - 0.03


def test_simulated_answers_come_back_where_links_are_hostile(world):
    as_it_is, with_trust, number = world.model.brought_back.T
    assert ((as_it_is >= 0) & (as_it_is <= 1) & (with_trust >= 0) & (with_trust <= 1)).all()
    assert number.sum() > 100
    assert with_trust[-1] > as_it_is[-1]


# ---- what it is fitted on


def arrays(model: TrustModel) -> list[np.ndarray]:
    regressions = [one.flat() for one in (*model.structural, *model.by_row, model.rows)]
    return [*regressions, model.company, model.learned.table, model.learned.basis]


def test_the_same_seed_gives_the_same_model_without_reading_labels_or_global_generators(world):
    hidden = dataclasses.replace(world.clean, labels=np.full(world.clean.num_nodes, -1), class_names=())
    before, numpys = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    again = fitted_on(hidden, VOTES)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002
    assert all(np.array_equal(*pair) for pair in zip(arrays(again), arrays(world.model), strict=True))
    assert np.array_equal(again.blend.A, world.model.blend.A)


def test_validation_labels_count_in_the_blend_alone(world):
    labels = np.where(np.arange(world.clean.num_nodes) % 3 == 0, (world.clean.labels + 1) % 3, -1)
    wrong = fitted_on(world.clean, VOTES, labels=labels)
    assert all(np.array_equal(*pair) for pair in zip(arrays(wrong), arrays(world.model), strict=True))
    assert not np.array_equal(wrong.blend.A, world.model.blend.A)


def uncertain(graph: Graph) -> np.ndarray:
    """A model without weights for graphs of any features: two classes by the sum of a row and of those around it."""
    sums = l1_norms(graph.features)
    log_odds = np.tanh(sums + graph.adjacency @ sums - 2)
    return np.stack([1 / (1 + np.exp(log_odds)), 1 / (1 + np.exp(-log_odds))], axis=1)


@pytest.mark.parametrize("which", ["isolated", "star", "path", "barbell", "ring", "bare"])
def test_small_graphs_are_fitted_and_judged(request, which):
    graph = request.getfixturevalue("ring" if which == "bare" else which)
    if which == "bare":
        graph = dataclasses.replace(graph, adjacency=sp.csr_array(graph.adjacency.shape, dtype=np.float32))
    model = fitted_on(graph, uncertain)
    clean = graph.subgraph(np.arange(2, graph.num_nodes))
    for later in (graph, clean):
        judgement = model.judge(scene_of(model, clean, later, uncertain))
        assert ((judgement.genuine >= 0) & (judgement.genuine <= 1)).all()
        assert ((judgement.honest >= 0) & (judgement.honest <= 1)).all()
        nodes = np.arange(later.num_nodes)
        blended = model.blended(judgement, uncertain(judgement.weighed(later)), nodes)
        assert np.isfinite(blended).all()
        assert np.allclose(blended.sum(axis=1), 1)


def test_one_class_is_always_the_answer(ring):
    def sure(graph: Graph) -> np.ndarray:
        return np.ones((graph.num_nodes, 1))

    model = fitted_on(ring, sure)
    judgement = model.judge(scene_of(model, ring.subgraph(np.arange(50)), ring, sure))
    assert np.array_equal(model.blended(judgement, sure(ring), np.arange(60)), np.ones((60, 1)))


def test_nothing_has_a_row_and_a_column_for_every_node(world):
    """Forty copies of the graph: an array of a byte for every pair would have 231 MB."""
    copies = 40
    large = Graph(
        sp.csr_array(sp.block_diag([world.clean.adjacency] * copies, format="csr")),
        sp.csr_array(np.tile(world.clean.dense_features(), (copies, 1))),
    )
    clean, n = large.subgraph(np.arange(20, large.num_nodes)), large.num_nodes
    own = world.model.learned.student.answers(large.features, large.ids)
    student = dataclasses.replace(world.model.learned.student, ids=large.ids, half=np.arange(n) % 2)
    tracemalloc.start()
    try:
        judgement = world.model.judge(scene_of(world.model, clean, large, VOTES))
        judgement.weighed(large)
        free = np.arange(n)
        simulate(large, VOTES, VOTES(large), own, student, free, (0.2, 0.5), np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n * n > 200e6
    assert peak < n * n / 2
