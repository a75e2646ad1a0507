import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph.csr import checked_csr, edges_of

GOOD = {"values": [1.0, 2.0], "columns": np.array([1, 0]), "starts": np.array([0, 1, 2]), "shape": (2, 3)}


def test_whole_parts_make_the_matrix():
    assert checked_csr("it", **GOOD).toarray().tolist() == [[0, 1, 0], [2, 0, 0]]
    assert edges_of(np.array([1, 0]), np.array([0, 1, 2]), "it").tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"starts": np.array([0, 1, 0])}, "expected 3 row starts of it that rise from 0 to 2"),
        ({"starts": np.array([0, 2, 1]), "columns": np.array([1, 0])}, "that rise from 0 to 2"),
        ({"starts": np.array([0, 2**31 - 1, 2])}, "expected row starts of it from 0 to 2, got 2147483647"),
        ({"starts": np.array([1, 1, 2])}, "that rise from 0 to 2"),
        ({"starts": np.array([0, 2])}, "expected 3 row starts of it .* got 2 of them"),
        ({"starts": np.array([0.0, 1.0, 2.0])}, "expected whole numbers as row starts of it, got float64"),
        ({"columns": np.array([1, 3])}, "expected columns of it from 0 to 2, got 3"),
        ({"columns": np.array([1, -1])}, "expected columns of it from 0 to 2, got -1"),
        ({"columns": np.array([1 + 2**32, 0])}, "expected columns of it from 0 to 2, got 4294967297"),
        ({"columns": np.array([2**64 - 1, 0], dtype=np.uint64)}, "got 18446744073709551615"),
        ({"columns": np.array([0.5, 1])}, "expected whole numbers as columns of it"),
        ({"values": [1.0]}, "expected 2 numbers in it, got float64 of shape"),
        ({"values": [1j, 1j]}, "expected 2 numbers in it, got complex128"),
        ({"shape": (10**15, 3)}, "expected shape of it from 0 to"),
        ({"shape": (2, 3, 1)}, "expected two numbers as shape of it, got 3"),
        ({"shape": (2.5, 3)}, "expected whole numbers as shape of it"),
    ],
)
def test_parts_that_native_code_would_trust_are_refused(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        checked_csr("it", **(GOOD | change))


def test_row_starts_that_end_in_zero_are_refused_where_there_is_no_entry():
    """SciPy's full check passes over these, and native code then writes out of bounds."""
    nothing = {"values": None, "columns": np.array([], dtype=int), "shape": (3, 3)}
    with pytest.raises(InvalidInput, match="expected row starts of it from 0 to 0, got 5"):
        checked_csr("it", **nothing, starts=np.array([0, 5, 5, 0]))
