"""A graph whose nodes are judged in turn, as if each were new."""

import dataclasses

import numpy as np
import pytest
from communities import strangers, with_links

from gvdn.trust.front import front_of
from gvdn.trust.turns import TURNS, _turns, in_turn


@pytest.fixture(scope="module")
def wrong_links(clean) -> list[tuple[int, int]]:
    return [(node, int(other)) for node in (5, 77, 150) for other in strangers(clean, node, 5)]


@pytest.fixture(scope="module")
def poisoned(clean, wrong_links):
    return with_links(clean, wrong_links)


@pytest.fixture(scope="module")
def known(poisoned, baseline):
    """What a model that was fitted on the poisoned graph would store: its links are among those that are known."""
    return dataclasses.replace(baseline, edges=poisoned.edges)


def test_every_node_has_one_turn_of_about_a_tenth_and_by_its_id(clean):
    turns = _turns(clean, 0)
    assert np.bincount(turns, minlength=TURNS).tolist() == [24] * 10
    order = np.random.default_rng(0).permutation(240)
    assert np.array_equal(_turns(clean.subgraph(order), 0), turns[order])
    assert not np.array_equal(_turns(clean, 1), turns)


def test_all_links_and_rows_are_in_question_and_nothing_is_stored(poisoned, trust, known):
    front = in_turn(trust, known, poisoned, seed=0)
    assert np.array_equal(front.judgement.scene.judged, np.arange(poisoned.num_edges))
    assert front.judgement.scene.doubted.all()
    assert len(front.in_question) == poisoned.num_nodes
    assert not front.weight_of_stored.any()


def test_a_row_and_the_votes_are_those_of_the_turn_of_the_node(poisoned, trust, known):
    front, turns = in_turn(trust, known, poisoned, seed=0), _turns(poisoned, 0)
    for turn in (0, 7):
        nodes = np.flatnonzero(turns == turn)
        alone = front_of(trust, known.only(turns != turn), poisoned).judgement
        assert np.array_equal(front.judgement.honest[nodes], alone.honest[nodes])
        assert np.array_equal(front.judgement.votes[nodes], alone.votes[nodes])


def test_a_link_counts_as_in_the_turn_that_trusts_it_less(poisoned, trust, known):
    front, turns = in_turn(trust, known, poisoned, seed=0), _turns(poisoned, 0)
    for edge in (0, 100, poisoned.num_edges - 1):
        found = []
        for turn in set(turns[poisoned.edges[edge]].tolist()):
            alone = front_of(trust, known.only(turns != turn), poisoned).judgement
            found.append(float(alone.in_question[alone.scene.judged == edge][0]))
        assert front.judgement.genuine[edge] == min(found)


def test_wrong_links_are_found_though_they_were_there_when_the_model_was_fitted(poisoned, wrong_links, trust, known):
    pairs = {tuple(sorted(pair)) for pair in wrong_links}
    hostile = np.array([tuple(pair) in pairs for pair in poisoned.edges.tolist()])
    assert hostile.sum() == 15
    assert not len(front_of(trust, known, poisoned).judgement.scene.judged), "by what is stored, nothing changed"
    genuine = in_turn(trust, known, poisoned, seed=0).judgement.genuine
    assert genuine[hostile].mean() < 0.3 < 0.8 < genuine[~hostile].mean()


def test_the_order_of_the_nodes_changes_nothing(poisoned, trust, known):
    order = np.random.default_rng(0).permutation(240)
    one, other = (in_turn(trust, known, graph, seed=0) for graph in (poisoned, poisoned.subgraph(order)))
    assert np.allclose(one.judgement.suspicion[order], other.judgement.suspicion)


def test_what_is_stored_of_a_node_has_no_part_in_its_own_turn(poisoned, trust, known):
    answers = known.answers.copy()
    answers[5] = np.roll(answers[5], 1)
    one, other = (
        in_turn(trust, base, poisoned, seed=0).judgement
        for base in (known, dataclasses.replace(known, answers=answers))
    )
    assert np.array_equal(one.votes[5], other.votes[5])
    assert one.honest[5] == other.honest[5]
    near = poisoned.adjacency[[5]].indices
    assert not np.array_equal(one.votes[near], other.votes[near])
