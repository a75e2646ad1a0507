import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import perturb
from gvdn.perturbations.wrong_links import OtherClasses


def test_each_victim_gets_its_links_to_ordinary_nodes_of_other_classes(ring):
    done = perturb(ring, "wrong-links", np.arange(20, 60), seed=0, victim_fraction=0.25, links=4)
    assert len(done.victims) == 10
    assert set(done.victims) <= set(range(20, 60))
    assert not len(done.perturbators)
    assert (np.isin(done.added, done.victims).sum(axis=1) == 1).all()
    assert np.bincount(done.added.ravel(), minlength=60)[done.victims].tolist() == [4] * 10
    assert (ring.labels[done.added[:, 0]] != ring.labels[done.added[:, 1]]).all()
    assert len(ring.edges) + 40 == done.graph.num_edges
    assert (done.graph.features != ring.features).nnz == 0


def test_ten_percent_of_the_candidates_get_five_links_each(ring):
    done = perturb(ring, "wrong-links", np.arange(60), seed=0)
    assert (len(done.victims), len(done.added)) == (6, 30)


def test_partners_are_drawn_from_all_nodes_of_other_classes(ring):
    """Not from the candidates only, and none of them much more often than others."""
    partners = np.zeros(60, dtype=int)
    for seed in range(200):
        done = perturb(ring, "wrong-links", [0], seed=seed)
        partners += np.bincount(done.added.max(axis=1), minlength=60)
    other = np.flatnonzero(ring.labels != ring.labels[0])
    allowed = np.setdiff1d(other, ring.adjacency[[0]].indices)
    assert set(np.flatnonzero(partners)) == set(allowed)
    expected = 1000 / len(allowed)
    assert np.abs(partners[allowed] - expected).max() < 5 * np.sqrt(expected)


def test_a_victim_with_few_partners_left_is_linked_to_all_of_them(barbell):
    done = perturb(barbell, "wrong-links", [9], seed=0, links=50)
    assert sorted(done.added.tolist()) == [[9, node] for node in range(11, 20)]  # 10 is its neighbour already


def test_unlabelled_nodes_are_neither_victims_nor_partners(ring):
    labels = ring.labels.copy()
    labels[::2] = -1
    half = dataclasses.replace(ring, labels=labels)
    done = perturb(half, "wrong-links", np.arange(60), seed=0, victim_fraction=0.2, links=50)
    assert len(done.victims) == 12
    assert (half.labels[done.added] >= 0).all()
    assert (half.labels[done.victims] >= 0).all()


@pytest.mark.parametrize("dense", [True, False])
def test_mixed_gives_the_victims_rows_of_other_classes_and_the_same_links(ring, dense):
    rows = ring.features.toarray() if not isinstance(ring.features, np.ndarray) else ring.features
    graph = dataclasses.replace(ring, features=rows if dense else sp.csr_array(rows))
    plain, mixed = (perturb(graph, "wrong-links", np.arange(60), seed=2, mixed=mixed) for mixed in (False, True))
    assert mixed.added.tolist() == plain.added.tolist()
    assert mixed.victims.tolist() == plain.victims.tolist()
    after = mixed.graph.dense_features()
    for node in range(60):
        found = np.flatnonzero((rows == after[node]).all(axis=1))
        same = ring.labels[found] == ring.labels[node]
        assert (~same).any() if node in mixed.victims else node in found


def test_no_node_of_another_class_is_said():
    graph = Graph.from_edges([[0, 1], [1, 2]], np.eye(3), labels=[0, 0, 0], ids=["a", "b", "c"])
    with pytest.raises(
        InvalidInput, match="expected labelled nodes of another class than .'s that are no victims, got"
    ):
        perturb(graph, "wrong-links", [0, 1], seed=0)


def test_when_all_others_are_victims_too_it_is_said(barbell):
    with pytest.raises(InvalidInput, match="that are no victims, got none; lower victim_fraction"):
        perturb(barbell, "wrong-links", np.arange(20), seed=0, victim_fraction=1.0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"links": 0}, "expected at least 1 link for each victim, got 0"),
        ({"victim_fraction": 1.5}, "expected victim_fraction between 0 and 1, got 1.5"),
    ],
)
def test_settings_out_of_range_are_refused(ring, given, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        perturb(ring, "wrong-links", np.arange(60), seed=0, **given)


def test_the_draw_from_other_classes_reaches_each_of_them_and_no_other():
    labels = np.array([1, 0, 2, 1, 0, 2, 3, -1])
    others = OtherClasses(labels, np.array([0, 1, 2, 3, 5]))
    rng = np.random.default_rng(0)
    expected = {0: [1, 2, 5], 4: [0, 2, 3, 5], 5: [0, 1, 3], 6: [0, 1, 2, 3, 5]}
    asked = np.array(list(expected))
    assert others.number(asked).tolist() == [len(nodes) for nodes in expected.values()]
    every, two = (others.draw(rng, asked, np.full(4, number)) for number in (99, 2))
    for place, nodes in enumerate(expected.values()):
        assert sorted(every[every[:, 0] == place, 1].tolist()) == nodes
        assert len(set(two[two[:, 0] == place, 1].tolist())) == 2
