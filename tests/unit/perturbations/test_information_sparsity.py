import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.perturbations import perturb

VICTIMS = np.arange(30)


def test_literal_takes_nine_tenths_of_the_links_and_every_feature(ring):
    done = perturb(ring, "information-sparsity", VICTIMS, seed=0)
    incident = np.isin(ring.edges, VICTIMS).any(axis=1).sum()
    assert len(done.removed) == round(0.9 * incident)
    assert np.isin(done.removed, VICTIMS).any(axis=1).all()
    assert sp.csr_array(done.graph.features)[VICTIMS].nnz == 0
    assert (done.graph.features[30:] != ring.features[30:]).nnz == 0
    assert done.victims.tolist() == VICTIMS.tolist()


def test_links_only_leaves_the_features(ring):
    done = perturb(ring, "infoSparse", VICTIMS, seed=0, variant="links-only")
    assert (done.graph.features != ring.features).nnz == 0
    assert len(done.removed) > 0


def test_a_given_fraction_wins_over_the_variant(ring):
    done = perturb(ring, "information-sparsity", VICTIMS, seed=0, link_fraction=0.0, feature_fraction=0.5)
    before, after = ring.features[VICTIMS].nnz, sp.csr_array(done.graph.features)[VICTIMS].nnz
    assert len(done.removed) == 0
    assert after == before - int(before * 0.5 + 0.5)


def test_dense_features_fade_too(barbell):
    done = perturb(barbell, "information-sparsity", np.array([3, 4]), seed=0)
    assert (done.graph.features[[3, 4]] == 0).all()
    assert (done.graph.features[5:] == barbell.features[5:]).all()


def test_an_unknown_variant_lists_the_known_ones(ring):
    with pytest.raises(InvalidInput, match="known: literal, links-only"):
        perturb(ring, "information-sparsity", VICTIMS, seed=0, variant="total")
