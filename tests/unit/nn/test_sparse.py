import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.nn.dropout import Dropout
from gvdn.nn.sparse import SparseMatrix

CPU = torch.device("cpu")


def random_matrix(rows: int, columns: int, *, share: float = 0.4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < share, rng.normal(size=(rows, columns)), 0).astype(np.float32)


def with_empty_rows_and_columns() -> np.ndarray:
    dense = random_matrix(7, 6)
    dense[[0, 3, 6]] = 0
    dense[:, [0, 5]] = 0
    return dense


MATRICES = {
    "square": random_matrix(6, 6),
    "wide": random_matrix(4, 9),
    "tall": random_matrix(9, 4),
    "empty rows": with_empty_rows_and_columns(),
    "zero": np.zeros((5, 3), dtype=np.float32),
    "one entry": np.eye(1, dtype=np.float32),
}


def dropout(rate: float) -> Dropout:
    return Dropout(rate, torch.Generator().manual_seed(0))


@pytest.fixture(params=list(MATRICES))
def dense(request) -> np.ndarray:
    return MATRICES[request.param]


def gradient(product, B: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    B = B.clone().requires_grad_()
    (product(B) * weights).sum().backward()
    return B.grad


def random_tensor(rows: int, columns: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32))


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def test_the_product_is_that_of_the_dense_matrix(dense):
    S, B = SparseMatrix(sp.csr_array(dense), CPU), random_tensor(dense.shape[1], 3, seed=1)
    np.testing.assert_allclose((S @ B).numpy(), dense @ B.numpy(), atol=1e-5)


def test_the_gradient_is_that_of_the_dense_matrix(dense):
    S, B = SparseMatrix(sp.csr_array(dense), CPU), random_tensor(dense.shape[1], 3, seed=1)
    weights = random_tensor(dense.shape[0], 3, seed=2)
    expected = gradient(lambda b: torch.from_numpy(dense) @ b, B, weights)
    torch.testing.assert_close(gradient(lambda b: S @ b, B, weights), expected, atol=1e-5, rtol=1e-5)


def test_a_symmetric_matrix_needs_only_one_half():
    half = random_matrix(8, 8)
    whole = half + half.T
    S = SparseMatrix(sp.csr_array(whole), CPU, symmetric=True)
    B, weights = random_tensor(8, 3, seed=1), random_tensor(8, 3, seed=2)
    assert S.backward_half is S.forward_half
    torch.testing.assert_close(S @ B, torch.from_numpy(whole) @ B)
    expected = gradient(lambda b: torch.from_numpy(whole) @ b, B, weights)
    torch.testing.assert_close(gradient(lambda b: S @ b, B, weights), expected)


def test_two_products_in_a_row_have_the_gradient_of_the_square():
    dense = random_matrix(6, 6)
    S, B, weights = SparseMatrix(sp.csr_array(dense), CPU), random_tensor(6, 2, seed=1), random_tensor(6, 2, seed=2)
    A = torch.from_numpy(dense)
    expected = gradient(lambda b: A @ (A @ b), B, weights)
    torch.testing.assert_close(gradient(lambda b: S @ (S @ b), B, weights), expected, atol=1e-5, rtol=1e-5)


def test_unsorted_columns_within_a_row_do_no_harm():
    matrix = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    S, B, weights = SparseMatrix(matrix, CPU), random_tensor(3, 2, seed=1), random_tensor(2, 2, seed=2)
    A = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    torch.testing.assert_close(S @ B, A @ B)
    torch.testing.assert_close(gradient(lambda b: S @ b, B, weights), A.T @ weights)


def test_a_slice_of_a_larger_tensor_is_multiplied_as_if_it_were_whole():
    dense = random_matrix(5, 5)
    wide = random_tensor(5, 6, seed=1)
    S = SparseMatrix(sp.csr_array(dense), CPU)
    np.testing.assert_allclose((S @ wide[:, 2:4]).numpy(), dense @ wide[:, 2:4].numpy(), atol=1e-5)


def test_dropout_drops_the_same_entries_forwards_and_backwards(dense):
    dropped = SparseMatrix(sp.csr_array(dense), CPU).dropped(dropout(0.5))
    A = dropped @ torch.eye(dense.shape[1])
    B, weights = random_tensor(dense.shape[1], 3, seed=1), random_tensor(dense.shape[0], 3, seed=2)
    expected = gradient(lambda b: A @ b, B, weights)
    torch.testing.assert_close(gradient(lambda b: dropped @ b, B, weights), expected, atol=1e-5, rtol=1e-5)


def test_dropout_zeroes_or_doubles_each_entry():
    dense = random_matrix(20, 20)
    left = (SparseMatrix(sp.csr_array(dense), CPU).dropped(dropout(0.5)) @ torch.eye(20)).numpy()
    entries = dense != 0
    ratios = left[entries] / dense[entries]
    assert set(np.round(ratios, 5)) == {0.0, 2.0}
    assert not left[~entries].any()


def test_dropout_keeps_the_expectation():
    dense = random_matrix(6, 5)
    S = SparseMatrix(sp.csr_array(dense), CPU)
    how = dropout(0.3)
    mean = sum(S.dropped(how) @ torch.eye(5) for _ in range(4000)) / 4000
    np.testing.assert_allclose(mean.numpy(), dense, atol=0.08)


def test_dropout_leaves_the_matrix_itself_alone():
    dense = random_matrix(6, 5)
    S = SparseMatrix(sp.csr_array(dense), CPU)
    S.dropped(dropout(0.9))
    np.testing.assert_allclose((S @ torch.eye(5)).numpy(), dense)
    assert S.dropped(dropout(0.0)) is S


def test_the_values_of_a_symmetric_matrix_cannot_be_dropped():
    with pytest.raises(ValueError, match="symmetric matrix shares its halves"):
        SparseMatrix(sp.csr_array(np.eye(3)), CPU, symmetric=True).dropped(dropout(0.5))


def test_the_product_of_the_gpu_is_that_of_the_cpu():
    """The tensor that a GPU multiplies by, multiplied here."""
    matrix = sp.csr_array(np.array([[0, 2, 0], [1, 0, 3]], dtype=np.float32))
    dense = torch.arange(6, dtype=torch.float32).view(3, 2)
    ours = SparseMatrix(matrix, torch.device("cpu"))
    torch.testing.assert_close(ours.forward_half.tensor() @ dense, ours @ dense)
    torch.testing.assert_close(ours.backward_half.tensor().to_dense(), torch.from_numpy(matrix.toarray().T.copy()))


# ---- other values in the same pattern


def test_other_values_stand_where_the_old_ones_did(dense):
    matrix = sp.csr_array(dense)
    values = random_tensor(1, matrix.nnz, seed=3)[0]
    other = SparseMatrix(matrix, CPU).with_values(values)
    expected = sp.csr_array((values.numpy(), matrix.indices, matrix.indptr), shape=matrix.shape).toarray()
    B, weights = random_tensor(dense.shape[1], 3, seed=1), random_tensor(dense.shape[0], 3, seed=2)
    np.testing.assert_allclose((other @ B).numpy(), expected @ B.numpy(), atol=1e-5)
    turned = gradient(lambda b: other @ b, B, weights)
    np.testing.assert_allclose(turned.numpy(), expected.T @ weights.numpy(), atol=1e-5)


def test_other_values_leave_the_matrix_as_it_was():
    dense = random_matrix(6, 5)
    S = SparseMatrix(sp.csr_array(dense), CPU)
    S.with_values(torch.zeros(S.nnz))
    np.testing.assert_allclose((S @ torch.eye(5)).numpy(), dense)


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_the_gradient_of_the_values_is_that_of_dense_autograd(piece, monkeypatch):
    """A matrix of any shape, in pieces of any size: each entry's gradient stands where the entry does."""
    monkeypatch.setattr("gvdn.nn.sparse.PIECE", piece)
    matrix = sp.csr_array(with_empty_rows_and_columns())
    rows, columns = (torch.from_numpy(part.astype(np.int64)) for part in matrix.tocoo().coords)
    B, weights = random_tensor(6, 3, seed=1), random_tensor(7, 3, seed=2)
    values = torch.from_numpy(matrix.data.copy()).requires_grad_()
    ((SparseMatrix(matrix, CPU).with_values(values) @ B) * weights).sum().backward()
    again = torch.from_numpy(matrix.data.copy()).requires_grad_()
    ((torch.zeros(7, 6).index_put((rows, columns), again) @ B) * weights).sum().backward()
    torch.testing.assert_close(values.grad, again.grad, atol=1e-5, rtol=1e-5)


def test_values_that_want_no_gradient_get_none():
    S = SparseMatrix(sp.csr_array(random_matrix(4, 4)), CPU)
    product = S @ random_tensor(4, 2, seed=1)
    assert not product.requires_grad
    assert S.forward_half.values.grad is None
