import numpy as np

from gvdn.graph.graph import edge_keys
from gvdn.trust.churn import churned


def exchanged(clean, share):
    later = churned(clean, clean.labels, np.random.default_rng(0), share)
    before, now = (edge_keys(graph.edges, 240) for graph in (clean, later))
    return clean.edges[~np.isin(before, now)], later.edges[~np.isin(now, before)]


def test_a_share_of_the_links_is_exchanged(clean):
    gone, came = exchanged(clean, 0.1)
    wanted = round(0.1 * clean.num_edges)
    assert len(gone) == wanted
    assert wanted * 0.9 < len(came) <= wanted


def test_new_links_join_the_classes_of_the_old_ones(clean):
    gone, came = exchanged(clean, 0.3)
    kinds = [np.bincount(np.sort(clean.labels[pairs], axis=1) @ [3, 1], minlength=9) for pairs in (gone, came)]
    assert (kinds[1] <= kinds[0]).all()
    assert kinds[1].sum() > 0.8 * kinds[0].sum()


def test_a_graph_without_links_stays_as_it_is(single):
    assert churned(single, single.labels, np.random.default_rng(0)).num_edges == 0
