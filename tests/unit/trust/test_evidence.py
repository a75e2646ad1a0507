import numpy as np
import pytest
from communities import strangers, with_links, with_row, without_links
from scipy import stats
from sklearn.metrics import roc_auc_score

from gvdn.graph.graph import not_linked
from gvdn.trust.churn import churned
from gvdn.trust.evidence import CAP, weigh
from gvdn.trust.front import front_of


@pytest.fixture
def weighed(trust, baseline, votes):
    return lambda graph: weigh(front_of(trust, baseline, graph), graph, votes(graph))


def test_the_clean_graph_has_no_evidence(clean, weighed):
    found = weighed(clean)
    assert not found.nodes.any()
    assert not len(found.links)


def test_a_row_above_the_largest_norm_weighs_the_logarithm_of_their_ratio_and_of_the_number_of_rows(
    clean, baseline, weighed
):
    found = weighed(with_row(clean, 7, np.full(24, 14 * baseline.max_norm / 24)))
    assert found.norm[7] == pytest.approx(np.log(241) + np.log(14), rel=1e-5)
    assert np.flatnonzero(found.norm).tolist() == [7]
    assert np.flatnonzero(found.row_changed).tolist() == [7]


def test_a_row_of_another_class_speaks_against_the_stored_answer(clean, baseline, weighed):
    other = int(np.flatnonzero(clean.labels == 1)[0])
    found = weighed(with_row(clean, 0, clean.features[other]))
    assert found.row[0] > 1
    same = weighed(with_row(clean, 0, clean.features[3]))
    assert same.row[0] < found.row[0]
    assert 0 < found.row[0] <= CAP


def test_many_new_links_are_more_improbable_than_chernoff_says(clean, weighed):
    strangers = [node for node in range(240) if node != 5 and not clean.adjacency[[5], [node]].any()][:40]
    found = weighed(with_links(clean, [(5, node) for node in strangers]))
    mean = 2 * clean.num_edges / 240
    expected = 0.01 * (clean.degrees[5] + mean)
    assert 0.9 * -stats.poisson.logsf(39, expected) < found.gained[5] <= -stats.poisson.logsf(39, expected)
    assert found.gained[5] > 50 * found.gained[strangers[0]]
    assert found.nodes.argmax() == 5


def test_lost_links_are_bounded_by_the_binomial_tail(clean, weighed):
    node = int(clean.degrees.argmax())
    degree = int(clean.degrees[node])
    found = weighed(without_links(clean, node, degree - 1))
    tail = -stats.binom.logsf(degree - 2, degree, 0.01)
    assert 0.7 * tail < found.lost[node] <= tail
    assert found.nodes.argmax() == node


def test_links_across_classes_fit_worse_than_links_within(clean, baseline, weighed):
    zero, one = (np.flatnonzero(clean.labels == label) for label in (0, 1))
    across, within = (int(zero[10]), int(one[20])), (int(zero[30]), int(zero[50]))
    found = weighed(with_links(clean, [across, within]))
    order = {tuple(pair): row for row, pair in enumerate(found.changes.links.tolist())}
    assert found.misfit[order[tuple(sorted(across))]] > found.misfit[order[tuple(sorted(within))]]


def test_a_link_does_not_count_against_itself(clean, weighed):
    found = weighed(with_links(clean, [(0, 1)]))
    assert not found.contact.any()


def test_churn_of_more_links_makes_each_new_link_less_unusual(clean, weighed):
    heavy = churned(clean, clean.labels, np.random.default_rng(0), 0.2)
    found, light = weighed(heavy), weighed(with_links(clean, [(0, 1)]))
    once = (found.changes.gained == 1) & (clean.degrees == clean.degrees[0])
    assert once.any()
    assert found.gained[once].max() < light.gained[0]


def test_a_new_nodes_links_are_compared_with_the_degrees_of_the_clean_graph(clean, lazy, votes):
    known = np.arange(1, 240)
    without = lazy.only(clean.ids[known]).get()
    found = weigh(front_of(lazy.trust(), without, clean), clean, votes(clean))
    larger = (without.degrees >= clean.degrees[0]).sum()
    assert found.gained[0] == pytest.approx(np.log(240 / (1 + larger)))
    assert found.answer[0] == 0


def test_what_a_link_weighs_is_the_trust_models_probability_that_it_is_genuine(clean, trust, baseline, votes):
    later = with_links(clean, [(0, 1), (0, 5), (7, 200), (100, 131)])
    front = front_of(trust, baseline, later)
    found = weigh(front, later, votes(later))
    genuine = dict(zip(map(tuple, later.edges.tolist()), front.judgement.genuine.tolist(), strict=True))
    assert len(found.misfit) == 4
    for row, pair in enumerate(found.changes.links.tolist()):
        assert found.misfit[row] == pytest.approx(-np.log(0.01 + 0.99 * genuine[tuple(pair)]))
        assert found.hostile[row] == (genuine[tuple(pair)] < 0.5)


def test_links_of_another_day_are_told_from_links_across_classes(clean, weighed):
    pairs = not_linked(clean, np.random.default_rng(5).integers(0, 240, (60, 2)))
    found = weighed(with_links(clean, pairs.tolist()))
    ends = clean.labels[found.changes.links]
    assert roc_auc_score(ends[:, 0] != ends[:, 1], found.misfit) > 0.85


def test_a_new_row_weighs_what_it_takes_to_call_it_honest(clean, trust, lazy, votes):
    without, other = lazy.only(clean.ids[1:]).get(), int(np.flatnonzero(clean.labels == 1)[0])
    weights = []
    for graph in (clean, with_row(clean, 0, clean.features[other])):
        front = front_of(trust, without, graph)
        weights.append(weigh(front, graph, votes(graph)).row[0])
        assert weights[-1] == pytest.approx(-np.log(0.01 + 0.99 * front.judgement.honest[0]))
    assert weights[0] < 0.1 < 1 < weights[1]


def test_genuine_links_of_a_new_node_are_not_to_blame_for_its_others(clean, lazy, votes):
    """All links of a new node are new; how many there are counts as far as a link is hostile."""
    without = lazy.only(clean.ids[1:]).get()
    later = with_links(clean, [(0, node) for node in strangers(clean, 0, 8)])
    found = weigh(front_of(lazy.trust(), without, later), later, votes(later))
    assert (found.contact <= CAP * (1 - found.genuine)[:, None] + 1e-9).all()
    theirs = ~clean.adjacency[[0]].toarray()[0].astype(bool)[found.changes.links].any(axis=1)
    assert theirs.sum() == 8
    assert found.links[theirs].min() > found.links[~theirs].max()
