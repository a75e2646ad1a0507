import dataclasses

import numpy as np
import pytest
import torch
from communities import Votes, communities

from gvdn.graph import Graph
from gvdn.trust import student as students
from gvdn.trust.baseline import Baseline
from gvdn.trust.calibration import DRAWS, calibrate
from gvdn.trust.fitting import fit_trust
from gvdn.trust.sample import Sample, sample_of
from gvdn.trust.simulation import REGIMES
from gvdn.trust.student import taught_rows, teach

MOST = 300


@pytest.fixture(scope="module")
def large() -> Graph:
    return communities(1500)


@pytest.fixture
def few(monkeypatch) -> None:
    monkeypatch.setattr("gvdn.trust.sample.MOST", MOST)


@pytest.fixture
def sample(large, few) -> Sample:
    return sample_of(large, large.labels, seed=0)


class Spy:
    """A model that notes how many nodes it is asked about each time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, graph: Graph) -> np.ndarray:
        self.sizes.append(graph.num_nodes)
        return Votes()(graph)


def test_a_graph_that_is_not_large_is_its_own_sample(clean):
    found = sample_of(clean, clean.labels, seed=0)
    assert found.graph is clean
    assert found.complete.all()
    assert np.array_equal(found.rows, np.arange(240))


def test_a_sample_has_at_most_so_many_nodes_with_their_ids_rows_and_labels(large, sample):
    assert 0.95 * MOST <= sample.graph.num_nodes <= MOST
    assert (np.diff(sample.rows) > 0).all()
    for part in ("ids", "labels", "features"):
        assert np.array_equal(getattr(sample.graph, part), getattr(large, part)[sample.rows])


def test_complete_nodes_have_all_their_links_and_no_others(large, sample):
    assert sample.complete.sum() > MOST / 10
    for node in np.flatnonzero(sample.complete):
        here = sample.graph.ids[sample.graph.adjacency[[node]].indices]
        there = large.ids[large.adjacency[[sample.rows[node]]].indices]
        assert set(here) == set(there)


def test_nodes_have_about_as_many_links_as_before_to_the_same_classes(large, sample):
    before, now = large.degrees[sample.rows], sample.graph.degrees
    inner = large.subgraph(sample.rows)
    assert inner.degrees.sum() < 0.7 * before.sum(), "without replacements many links are lost"
    assert abs(now.sum() / before.sum() - 1) < 0.06
    assert np.corrcoef(before, now)[0, 1] > 0.5
    within = [(np.diff(graph.labels[graph.edges], axis=1) == 0).mean() for graph in (large, sample.graph)]
    assert within[1] == pytest.approx(within[0], abs=0.05)


def test_the_same_seed_gives_the_same_sample(large, few):
    one, same, other = (sample_of(large, large.labels, seed=seed) for seed in (3, 3, 4))
    assert one.graph.hash == same.graph.hash != other.graph.hash


def test_weights_of_links_stay_and_replacements_have_the_mean_weight(large, few):
    weighted = dataclasses.replace(large, adjacency=2 * large.adjacency)
    found = sample_of(weighted, large.labels, seed=0)
    assert (found.graph.edge_weights == 2).all()


def test_a_hub_that_does_not_fit_is_there_without_its_neighbours(few):
    spokes = np.stack([np.zeros(999, dtype=np.int64), np.arange(1, 1000)], axis=1)
    hub = Graph.from_edges(spokes, np.ones((1000, 2)), labels=np.arange(1000) % 2)
    found = sample_of(hub, hub.labels, seed=0)
    assert found.rows[0] == 0
    assert not found.complete[0]
    assert found.complete[1:].all()


def test_nodes_without_links_can_be_sampled(few):
    alone = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), np.ones((1000, 2)))
    found = sample_of(alone, np.zeros(1000, dtype=np.int64), seed=0)
    assert found.graph.num_nodes == round(0.95 * MOST)
    assert found.complete.all()


def test_what_the_network_is_asked_does_not_grow_with_the_graph(large, few):
    """The whole graph once for each of the two stages, and then only samples."""
    student = teach(large.features, large.ids, Votes()(large), seed=0, device=torch.device("cpu"))
    own, spy = student.answers(large.features, large.ids), Spy()
    none, trained = np.full(1500, -1), np.arange(1500) < 150
    trust = fit_trust(large, spy, student, own, labels=none, trained=trained, seed=0)
    assert spy.sizes[0] == 1500
    assert max(spy.sizes[1:]) <= MOST
    assert len(spy.sizes) == 1 + 5 * len(REGIMES)
    baseline = Baseline.of(large, Votes(), seed=0, device=torch.device("cpu"))
    spy = Spy()
    found = calibrate(trust, baseline, large, spy, seed=0)
    assert max(spy.sizes) <= MOST
    assert len(spy.sizes) == 1 + DRAWS
    assert len(found.excess) == DRAWS
    assert found.link < 1e9


def test_arriving_nodes_have_no_id_of_the_whole_graph(few):
    """The numbers that a sample lacks are nodes of the whole graph, of which a model stores something."""
    numbered = dataclasses.replace(communities(1500), ids=np.arange(1500))
    student = teach(numbered.features, numbered.ids, Votes()(numbered), seed=0, device=torch.device("cpu"))
    own, none, asked = student.answers(numbered.features, numbered.ids), np.full(1500, -1), []

    def spy(graph: Graph) -> np.ndarray:
        asked.append(graph.ids)
        return Votes()(graph)

    fit_trust(numbered, spy, student, own, labels=none, trained=np.zeros(1500, dtype=bool), seed=0)
    sampled = sample_of(numbered, Votes()(numbered).argmax(axis=1), seed=0).graph.ids
    others = np.setdiff1d(np.concatenate(asked[1:]), sampled)
    assert others.size
    assert others.min() >= 1500


def test_of_very_many_nodes_random_ones_are_taught_and_the_others_asked_of_both(large, monkeypatch):
    monkeypatch.setattr(students, "MOST", 400)
    rows = taught_rows(1500, seed=0)
    assert len(rows) == len(np.unique(rows)) == 400
    assert rows.max() > 1300
    assert np.array_equal(taught_rows(400, seed=0), np.arange(400))
    found = Baseline.of(large, Votes(), seed=0, device=torch.device("cpu"))
    assert np.array_equal(found.student.ids, large.ids[rows])
    assert (found.student.half_of(large.ids) >= 0).sum() == 400
    assert len(found.own) == len(found.ids) == 1500
    assert found.student.longest == pytest.approx(np.linalg.norm(large.features, axis=1).max())
