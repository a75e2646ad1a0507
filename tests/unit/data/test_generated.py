"""The generated graphs."""

import numpy as np
import pytest

from gvdn.data import DATASETS, load_graph
from gvdn.data.generated import CLASSES, GENERATORS, growing, heterophilous
from gvdn.graph import edge_homophily, temporal_split


@pytest.mark.parametrize("name", ["growing", "heterophilous"])
def test_a_generated_graph_is_the_same_everywhere_and_needs_nothing(name, monkeypatch):
    monkeypatch.delenv("GVDN_DATA", raising=False)
    graph = load_graph(name, as_published=True)
    assert graph.hash == DATASETS[name].hash
    assert (graph.name, graph.num_nodes, graph.num_classes, graph.notes) == (name, 3000, 5, ())
    assert set(np.unique(graph.features.data)) == {1.0}
    assert load_graph(name).features.sum(axis=1).max() == pytest.approx(1)


def test_every_generator_is_in_the_catalogue():
    assert sorted(GENERATORS) == sorted(one.stem for one in DATASETS.values() if one.source == "generated")


def test_another_seed_is_another_graph():
    assert heterophilous(200, seed=1).hash != heterophilous(200).hash
    assert growing(300, seed=1).hash != growing(300).hash


def test_links_of_the_heterophilous_graph_join_neighbours_in_the_ring_of_classes():
    graph = load_graph("heterophilous")
    assert edge_homophily(graph) == pytest.approx(0.2, abs=0.02)
    apart = np.abs(np.diff(graph.labels[graph.edges], axis=1)).ravel()
    apart = np.minimum(apart, CLASSES - apart)
    assert np.bincount(apart) / len(apart) == pytest.approx([0.2, 0.7, 0.1], abs=0.02)


def test_nodes_of_the_growing_graph_link_to_those_that_were_there():
    graph = load_graph("growing")
    months = graph.published.times
    assert (np.diff(months) >= 0).all()
    assert (months.min(), months.max()) == (0, 29)
    early, late = graph.degrees[:300].mean(), graph.degrees[-300:].mean()
    assert early > 2 * late
    split = temporal_split(graph)
    assert months[split.train].max() < months[split.val].min() <= months[split.val].max() < months[split.test].min()


def test_the_words_of_the_classes_change_over_the_months():
    graph = load_graph("growing", as_published=True)
    mine = graph.labels == 0
    months = graph.published.times[mine]
    words = graph.features[mine].toarray()
    first, last = words[months < 5].mean(axis=0), words[months > 24].mean(axis=0)
    assert first[:30].mean() > 2 * last[:30].mean()
    assert last[30:60].mean() > 2 * first[30:60].mean()
