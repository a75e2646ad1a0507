import numpy as np
import pytest
from communities import with_links, with_row, without_links
from scipy import stats

from gvdn.trust.churn import churned
from gvdn.trust.evidence import CAP, weigh


@pytest.fixture
def weighed(baseline, votes):
    return lambda graph: weigh(baseline, graph, votes(graph))


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
    found = weigh(without, clean, votes(clean))
    larger = (without.degrees >= clean.degrees[0]).sum()
    assert found.gained[0] == pytest.approx(np.log(240 / (1 + larger)))
    assert (found.row[0], found.answer[0]) == (0, 0)
