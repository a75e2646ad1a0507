"""Perturbations that draw for all nodes at once give what drawing node by node gives, and look at no node in vain."""

from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from communities import communities

import gvdn
from gvdn.graph import Graph
from gvdn.seeds import generator


@pytest.fixture(scope="module")
def graph() -> Graph:
    return communities(400)


def neighbours(graph: Graph, node: int) -> np.ndarray:
    return graph.adjacency[[node]].indices


def test_random_connections_draw_among_the_victims_that_are_no_neighbours(graph):
    done = gvdn.perturb(graph, "random-connections", np.arange(400), seed=0, victim_fraction=0.5, rate=0.05)
    rng = generator(0, "perturb", "random-connections", graph.name)
    rng.permutation(np.arange(400))
    wanted = []
    for node in done.perturbators:
        eligible = np.setdiff1d(done.victims, neighbours(graph, node))
        chosen = rng.choice(eligible, size=20, replace=False)
        wanted.append(np.sort(np.stack([chosen, np.full(20, node)], axis=1), axis=1))
    assert np.array_equal(done.added, np.concatenate(wanted))
    beside = [np.isin(neighbours(graph, node), done.victims).any() for node in done.perturbators]
    assert any(beside), "no perturbator has a victim as neighbour: the test shows nothing"


def test_random_connections_look_up_the_neighbours_of_perturbators_and_nothing_else(graph, monkeypatch):
    module = import_module("gvdn.perturbations.random_connections")
    looked, find = [], module.find_keys
    monkeypatch.setattr(module, "find_keys", lambda keys, wanted: looked.append(len(wanted)) or find(keys, wanted))
    done = gvdn.perturb(graph, "random-connections", np.arange(400), seed=0, victim_fraction=0.5, rate=0.05)
    assert sum(looked) == graph.degrees[done.perturbators].sum()


@pytest.mark.parametrize("mixed", [False, True])
def test_wrong_links_draw_victim_by_victim(graph, mixed):
    done = gvdn.perturb(graph, "wrong-links", np.arange(400), seed=2, victim_fraction=0.3, links=4, mixed=mixed)
    rng = generator(2, "perturb", "wrong-links", graph.name)
    rest = np.setdiff1d(np.arange(400), done.victims)
    by_class = rest[np.argsort(graph.labels[rest], kind="stable")]

    def others(node: int, number: int) -> np.ndarray:
        pool = by_class[graph.labels[by_class] != graph.labels[node]]
        return pool[rng.choice(len(pool), min(number, len(pool)), replace=False)]

    wanted = []
    for node in done.victims:
        near = neighbours(graph, node)
        drawn = others(node, 4 + len(near))
        partners = drawn[~np.isin(drawn, near)][:4]
        wanted.append(np.sort(np.stack([partners, np.full(len(partners), node)], axis=1), axis=1))
    assert np.array_equal(done.added, np.concatenate(wanted))
    if mixed:
        rows = np.concatenate([others(node, 1) for node in done.victims])
        assert np.array_equal(done.graph.features[done.victims], graph.features[rows])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_information_sparsity_loses_the_entries_that_were_drawn(graph, fraction, dense):
    rows = graph.features if dense else sp.csr_array(graph.features)
    given = Graph(graph.adjacency, rows, labels=graph.labels, name=graph.name)
    settings = {"seed": 1, "victim_fraction": 0.5, "feature_fraction": fraction}
    done = gvdn.perturb(given, "information-sparsity", np.arange(400), **settings)
    rng = generator(1, "perturb", "information-sparsity", graph.name)
    rng.permutation(np.arange(400))
    incident = np.flatnonzero(np.isin(graph.edges, done.victims).any(axis=1))
    rng.permutation(incident)
    wanted = sp.csr_array(graph.features[done.victims])
    wanted.data[rng.permutation(wanted.nnz)[: round(fraction * wanted.nnz)]] = 0
    assert np.array_equal(done.graph.dense_features()[done.victims], wanted.toarray())
    changed = (wanted.toarray() != graph.features[done.victims]).any(axis=1)
    assert np.array_equal(done.receipt.changes.feature_rows, done.victims[changed])
