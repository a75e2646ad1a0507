import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from small_models import scaled

from gvdn.trust.guard import guarded, guarded_rows, ordinary_norm, outliers


@pytest.mark.parametrize("which", ["ring", "star"])
def test_the_guard_scales_only_rows_of_larger_norm_than_in_training(which, request):
    graph = request.getfixturevalue(which)
    norms = np.asarray(abs(graph.features).sum(axis=1)).ravel()
    max_norm = float(norms.max())
    assert guarded(graph, max_norm) is graph
    after = guarded(scaled(graph, 2, -50.0), max_norm)
    features, before = (sp.csr_array(one.features).toarray() for one in (after, graph))
    others = np.arange(graph.num_nodes) != 2
    assert np.array_equal(features[others], before[others])
    norm = 50 * norms[2]
    assert np.abs(features[2]).sum() == pytest.approx(max_norm**2 / norm, rel=1e-5)
    np.testing.assert_allclose(features[2], -50 * before[2] * (max_norm / norm) ** 2, rtol=1e-5)


def test_outliers_are_the_rows_above_the_largest_norm_by_more_than_rounding(star):
    largest = float(np.abs(star.features).sum(axis=1).max())
    assert not outliers(star, largest).any()
    assert not outliers(star, largest * (1 - 1e-6)).any()
    assert np.flatnonzero(outliers(scaled(star, 3, 40.0), largest)).tolist() == [3]


@pytest.mark.parametrize("which", ["ring", "star"])
def test_a_guarded_graph_has_no_outliers_and_the_given_one_is_unchanged(which, request):
    graph = scaled(request.getfixturevalue(which), 4, 7.0)
    before = graph.features.copy()
    largest = float(np.asarray(abs(request.getfixturevalue(which).features).sum(axis=1)).max())
    assert outliers(graph, largest)[4]
    assert not outliers(guarded(graph, largest), largest).any()
    assert not (graph.features != before).sum()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_scaled_rows_are_those_of_the_graph_without_another_copy(kind, star):
    graph = dataclasses.replace(star, features=kind(star.features * np.arange(1, 8, dtype=np.float32)[:, None]))
    rows = guarded_rows(graph.features, 1.0)
    seen = dataclasses.replace(graph, features=rows)
    assert seen.features is rows
    stored = rows.data if sp.issparse(rows) else rows
    assert not stored.flags.writeable
    other = dataclasses.replace(graph, features=rows.copy())
    assert other.features is not rows
    assert other.hash == seen.hash


def test_entries_that_vanish_when_a_row_is_scaled_down_are_not_stored():
    features = sp.csr_array(np.array([[1e-30, 1e30], [1.0, 0.0]], dtype=np.float32))
    rows = guarded_rows(features, 1.0)
    assert rows.nnz == (rows.toarray() != 0).sum()
    assert features.nnz == 3


# ---- the graph's own rows


def rows(*norms: float) -> np.ndarray:
    return np.array([[norm / 2, -norm / 2] for norm in norms], dtype=np.float32)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        ([1] * 20, None),
        ([1] * 20 + [9.9], None),
        ([1] * 20 + [10.5], 1.0),
        ([1] * 20 + [9, 5000, 5000], 9.0),
        ([1] * 16 + [5000] * 4, 1.0),
        ([0] * 50 + [1] * 20 + [5000], 1.0),
        ([0] * 5, None),
        ([0] * 5 + [7], None),
        ([1, 2, 4, 8] * 5 + [127], None),  # the quartiles are 2 and 8: the fence is 8 (8 / 2)^2 = 128
        ([1, 2, 4, 8] * 5 + [129, 130], 8.0),
        ([1] * 20 + [4, 16, 64, 256], None),  # no gap
        ([1] * 20 + [4, 16, 64, 330, 340], 64.0),
    ],
)
@pytest.mark.parametrize("sparse", [True, False])
def test_the_ordinary_norm_is_the_largest_that_is_not_outlying(norms, expected, sparse):
    given = rows(*norms)
    assert ordinary_norm(sp.csr_array(given) if sparse else given) == expected


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_rows_whose_norms_vary_by_nature_are_no_outliers(spread):
    norms = np.exp(spread * np.random.default_rng(0).standard_normal(20_000))
    assert ordinary_norm(rows(*norms)) is None


def test_a_graph_without_rows_has_no_outliers():
    assert ordinary_norm(np.empty((0, 3), dtype=np.float32)) is None
