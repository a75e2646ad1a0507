"""A graph judged by what is stored, before a model sees it."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from communities import strangers, with_links, with_row, without_links

from gvdn.graph.graph import edge_keys
from gvdn.trust.front import front_of


@pytest.fixture
def judged(trust, baseline):
    return lambda graph: front_of(trust, baseline, graph)


def test_nothing_is_in_question_on_the_clean_graph(clean, votes, judged):
    front = judged(clean)
    assert not len(front.judgement.scene.judged)
    assert not front.judgement.scene.doubted.any()
    assert not front.doubt.any()
    assert front.seen.hash == clean.hash
    assert np.array_equal(front.answers(votes(clean)), votes(clean))


def test_new_links_alone_are_in_question(clean, judged):
    pairs = [(5, node) for node in strangers(clean, 5, 4)]
    later = with_links(clean, pairs)
    scene = judged(later).judgement.scene
    keys = edge_keys(np.sort(np.array(pairs), axis=1), 240)
    assert np.array_equal(np.sort(edge_keys(later.edges[scene.judged], 240)), np.sort(keys))
    assert not scene.doubted.any()


def test_rows_that_changed_and_rows_of_new_nodes_are_in_question(clean, trust, baseline, lazy):
    later = with_row(clean, 7, clean.features[8])
    assert np.flatnonzero(front_of(trust, baseline, later).judgement.scene.doubted).tolist() == [7]
    front = front_of(trust, lazy.only(clean.ids[3:]).stored(), later)
    assert np.flatnonzero(front.judgement.scene.doubted).tolist() == [0, 1, 2, 7]
    assert front.in_question.tolist() == [0, 1, 2]


def test_nodes_are_found_by_their_ids(clean, judged):
    order = np.random.default_rng(0).permutation(240)
    later = with_links(clean, [(5, node) for node in strangers(clean, 5, 4)])
    one, other = judged(later), judged(later.subgraph(order))
    assert np.allclose(one.doubt[order], other.doubt)
    assert np.allclose(one.judgement.suspicion[order], other.judgement.suspicion)


def test_doubt_is_at_hostile_links_and_near_them_and_nowhere_else(clean, judged):
    later = with_links(clean, [(5, node) for node in strangers(clean, 5, 4)])
    front = judged(later)
    assert ((front.doubt >= 0) & (front.doubt <= 1)).all()
    assert front.doubt[5] > 0.9
    A = later.adjacency.astype(bool).astype(float)
    near = (A @ (A @ np.eye(240)[:, 5])) + A[:, [5]].toarray().ravel() > 0
    assert not front.doubt[~near & (np.arange(240) != 5)].any()


def test_lost_links_are_doubt(clean, judged):
    front = judged(without_links(clean, 9, 3))
    assert front.doubt[9] == 1


def test_a_stored_node_in_doubt_has_its_stored_answer_and_others_the_networks(clean, votes, baseline, judged):
    later = with_links(clean, [(5, node) for node in strangers(clean, 5, 6)])
    front, network = judged(later), np.full((240, 3), 1 / 3)
    found = front.answers(network)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.allclose(found[5], front.doubt[5] * baseline.answers[5] + (1 - front.doubt[5]) / 3)
    assert np.array_equal(found[front.doubt == 0], network[front.doubt == 0])


def test_the_guard_can_be_left_out(clean, trust, baseline):
    large = with_row(clean, 7, 50 * clean.features[7])
    on, off = (front_of(trust, baseline, large, guard=guard) for guard in (True, False))
    norms = [np.abs(front.judgement.scene.graph.features[7]).sum() for front in (on, off)]
    assert norms[0] < baseline.max_norm < norms[1]


def test_nothing_stored_at_all_is_judged_too(clean, votes, trust, lazy):
    bare = lazy.only(clean.ids[:0]).stored()
    for graph in (clean, dataclasses.replace(clean, adjacency=sp.csr_array((240, 240), dtype=np.float32))):
        front = front_of(trust, bare, graph)
        assert len(front.in_question) == 240
        found = front.answers(votes(front.seen))
        assert np.isfinite(found).all()
        assert np.allclose(found.sum(axis=1), 1)
