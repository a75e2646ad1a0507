import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.perturbations import perturb


def test_perturbators_gain_their_edges_to_victims_and_nothing_else_changes(ring):
    candidates = np.arange(20, 60)
    done = perturb(ring, "random-connections", candidates, seed=0, rate=0.1, victim_fraction=0.5)
    assert (len(done.victims), len(done.perturbators)) == (20, 2)
    assert set(done.victims) | set(done.perturbators) <= set(candidates)
    assert not set(done.victims) & set(done.perturbators)
    assert len(done.added) == 2 * 10
    per = np.isin(done.added, done.perturbators).sum(axis=1)
    assert (per == 1).all()
    assert np.isin(done.added, done.victims).any(axis=1).all()
    assert done.graph.num_edges == ring.num_edges + 20


def test_every_feature_of_a_perturbator_is_the_mean_degree_of_the_victims_with_loop(ring):
    done = perturb(ring, "rdmPert", np.arange(60), seed=1, rate=0.1)
    rows = sp.csr_array(done.graph.features).toarray()
    assert (rows[done.perturbators] == 5).all()  # a ring of degree 4, and the loop
    others = np.setdiff1d(np.arange(60), done.perturbators)
    np.testing.assert_array_equal(rows[others], ring.features.toarray()[others])


def test_without_constant_features_the_perturbators_keep_theirs(ring):
    done = perturb(ring, "random-connections", np.arange(60), seed=1, constant_features=False)
    assert (done.graph.features != ring.features).nnz == 0
    assert len(done.added) > 0


def test_a_perturbator_among_its_neighbours_connects_to_the_other_victims_only(barbell):
    done = perturb(barbell, "random-connections", np.arange(10), seed=0, rate=0.5, victim_fraction=0.5)
    assert len(done.added) == 0  # ten nodes of one clique: all are neighbours already
    assert done.graph.num_edges == barbell.num_edges


def test_no_room_for_perturbators_is_said(ring):
    with pytest.raises(InvalidInput, match="20 victims and 1 perturbators among 20 candidates; lower victim_fraction"):
        perturb(ring, "random-connections", np.arange(20), seed=0, victim_fraction=1.0)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5])
def test_a_rate_outside_the_range_is_refused(ring, rate):
    with pytest.raises(InvalidInput, match="expected a rate"):
        perturb(ring, "random-connections", np.arange(60), seed=0, rate=rate)


@pytest.mark.real
def test_on_cora_each_perturbator_adds_a_hundred_edges_and_only_their_rows_change(real):
    from gvdn.graph import random_split

    cora = real("cora")
    done = perturb(cora, "random-connections", random_split(cora, seed=0), seed=0)
    assert (len(done.victims), len(done.perturbators)) == (190, 2)
    for perturbator in done.perturbators:
        assert (done.added == perturbator).sum() == 100
    changed = np.unique((done.graph.features != cora.features).nonzero()[0])
    assert changed.tolist() == sorted(done.perturbators.tolist())
