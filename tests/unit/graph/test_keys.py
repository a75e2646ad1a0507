"""Sorted keys of links are searched; the results are those of NumPy's set functions, which hash."""

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.graph.csr import csr_parts, upper_entries
from gvdn.graph.edges import are_among, clean_edges, find_keys, sorted_once
from gvdn.graph.graph import find_ids


@pytest.mark.parametrize("seed", range(5))
def test_searches_find_what_set_functions_find(seed):
    rng = np.random.default_rng(seed)
    keys, wanted = np.unique(rng.integers(0, 50, 30)), rng.integers(-5, 60, 40)
    assert np.array_equal(are_among(keys, wanted), np.isin(keys, wanted))
    found = find_keys(keys, wanted)
    assert np.array_equal(found >= 0, np.isin(wanted, keys))
    assert np.array_equal(keys[found[found >= 0]], wanted[found >= 0])
    assert np.array_equal(sorted_once(wanted), np.unique(wanted))


def test_among_no_keys_nothing_is_found():
    none, some = np.zeros(0, dtype=np.int64), np.array([3, 1])
    assert find_keys(none, some).tolist() == [-1, -1]
    assert are_among(some, none).tolist() == [False, False]
    assert are_among(none, some).tolist() == []
    assert sorted_once(none).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_edges_are_counted_as_by_sets(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 9, (60, 2))
    found = clean_edges(pairs, 9)
    directed = {(int(u), int(v)) for u, v in pairs if u != v}
    once = sorted({(min(pair), max(pair)) for pair in directed})
    assert [tuple(pair) for pair in found.pairs.tolist()] == once
    assert found.dropped.loops == (pairs[:, 0] == pairs[:, 1]).sum()
    assert found.dropped.duplicates == 60 - found.dropped.loops - len(once)
    assert found.dropped.both_ways == sum((u, v) in directed and (v, u) in directed for u, v in once)


def test_weights_of_parallel_links_are_added_in_the_order_given():
    pairs, weights = np.array([[2, 0], [0, 1], [0, 2], [1, 1], [2, 0]]), [1.5, 2, 0.25, 9, 4]
    assert clean_edges(pairs, 3, weights).weights.tolist() == [2, 5.75]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_entries_of_dense_rows_are_those_of_a_sparse_matrix(share):
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((7, 5)) * (rng.random((7, 5)) >= share)).astype(np.float32)
    sparse = sp.csr_array(rows)
    for part, other, wanted in zip(
        csr_parts(rows), csr_parts(sparse), (sparse.indptr, sparse.indices, sparse.data), strict=True
    ):
        assert np.array_equal(part, wanted)
        assert np.array_equal(other, wanted)


def test_entries_above_the_diagonal_are_those_of_scipy(ring):
    above, rows = upper_entries(ring.adjacency)
    wanted = sp.triu(ring.adjacency, k=1, format="csr").tocoo()
    assert np.array_equal(rows, wanted.row)
    assert np.array_equal(ring.adjacency.indices[above], wanted.col)
    assert np.array_equal(ring.edges, np.stack([wanted.row, wanted.col], axis=1))


def test_equal_ids_are_found_without_sorting(monkeypatch):
    ids = np.array(["b", "a", "c"])
    monkeypatch.setattr(np, "argsort", None)
    assert find_ids(ids, ids.copy()).tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        find_ids(ids, ids[::-1])
