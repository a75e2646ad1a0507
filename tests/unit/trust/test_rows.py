import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity

from gvdn.trust import rows


@pytest.fixture
def dense():
    features = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    features[1] = 0
    features[2, 3] = 0
    return features


def test_norms_are_those_of_numpy_for_dense_and_sparse_rows(dense):
    for features in (dense, sp.csr_array(dense)):
        assert np.allclose(rows.l1_norms(features), np.abs(dense).sum(axis=1))
        assert np.allclose(rows.l2_norms(features), np.linalg.norm(dense, axis=1), rtol=1e-6)


def test_equal_rows_have_equal_digests_however_they_are_stored(dense):
    sparse = sp.csr_array(dense)
    stored_zero = sp.csr_array(
        (np.append(sparse.data, 0), np.append(sparse.indices, 0), sparse.indptr + (np.arange(7) == 6))
    )
    for features in (sparse, stored_zero):
        assert np.array_equal(rows.digests(features), rows.digests(dense))
    assert np.array_equal(rows.digests(dense[::-1]), rows.digests(dense)[::-1])


def test_any_change_of_a_row_changes_its_digest_and_no_other(dense):
    before = rows.digests(dense)
    for column in range(5):
        other = dense.copy()
        other[4, column] += np.float32(1e-3)
        assert np.flatnonzero(rows.digests(other) != before).tolist() == [4]
    swapped = dense[:, [1, 0, 2, 3, 4]]
    assert (rows.digests(swapped) != before).sum() == 5  # the row of zeros stays


def test_cosines_are_those_of_scikit_learn(dense, monkeypatch):
    monkeypatch.setattr(rows, "PIECE", 4)
    pairs = np.array([(a, b) for a in range(6) for b in range(6)])
    for features in (dense, sp.csr_array(dense)):
        assert np.allclose(rows.cosines(features, pairs), cosine_similarity(dense)[pairs[:, 0], pairs[:, 1]], atol=1e-6)


def test_a_frozen_graph_is_read_and_not_written(clean):
    sparse = dataclasses.replace(clean, features=sp.csr_array(clean.features))
    assert np.array_equal(rows.digests(sparse.features), rows.digests(clean.features))


def test_norms_of_a_frozen_matrix_are_computed_once_and_belong_to_it_alone():
    """Another matrix may get the address of one that is gone."""
    for number in range(50):
        matrix = np.full((3, 2), float(number), dtype=np.float32)
        matrix.setflags(write=False)
        assert rows.l1_norms(matrix).tolist() == [2.0 * number] * 3
        assert rows.l1_norms(matrix) is rows.l1_norms(matrix)
        del matrix


def test_norms_of_a_matrix_that_can_be_written_to_follow_it():
    matrix = np.ones((3, 2), dtype=np.float32)
    assert rows.l1_norms(matrix).tolist() == [2, 2, 2]
    matrix[1] = 5
    assert rows.l1_norms(matrix).tolist() == [2, 10, 2]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_scaled_rows_are_the_rows_times_their_factors(kind):
    X = np.random.default_rng(0).integers(0, 3, (6, 5)).astype(np.float32)
    scale = np.array([1, 0.5, 2, 0.25, 0, 3.0])
    found = rows.scaled_rows(kind(X), scale)
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, X * scale[:, None])
