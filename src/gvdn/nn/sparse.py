"""Products of a constant sparse matrix with a dense one, forwards and backwards."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


class SparseMatrix:
    """S, constant, in CSR, together with the CSR of its transpose, which is what the backward pass multiplies by.

    On a CPU a row of S B is a weighted bag of rows of B, and torch's bag kernel is an order of magnitude faster there
    than its CSR product; on a GPU the CSR product is the fast one.
    """

    def __init__(self, matrix: sp.csr_array, device: torch.device, *, symmetric: bool = False) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.nnz = int(matrix.nnz)
        self.forward_half = _Csr.of(matrix, device)
        self.backward_half = self.forward_half
        self.order: Tensor | None = None
        if not symmetric:
            # The places of the entries, transposed along with the pattern, say where each value goes.
            places = sp.csr_array((np.arange(self.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
            turned = sp.csr_array(places.T)
            self.order = torch.from_numpy(turned.data.astype(np.int64)).to(device)
            turned = sp.csr_array((matrix.data[turned.data], turned.indices, turned.indptr), shape=turned.shape)
            self.backward_half = _Csr.of(turned, device)

    def __matmul__(self, dense: Float[Tensor, "m k"]) -> Float[Tensor, "n k"]:
        product: Tensor = _Product.apply(dense, self.forward_half, self.backward_half)  # type: ignore[no-untyped-call]
        return product

    def dropout(self, p: float) -> SparseMatrix:
        """The same pattern with each value zeroed with probability p and scaled up otherwise."""
        if p == 0:
            return self
        if self.order is None:
            raise ValueError("a symmetric matrix shares its halves, so its values cannot be dropped")
        other = object.__new__(SparseMatrix)
        other.shape, other.nnz, other.order = self.shape, self.nnz, self.order
        values = F.dropout(self.forward_half.values, p)
        other.forward_half = self.forward_half.with_values(values)
        other.backward_half = self.backward_half.with_values(values[self.order])
        return other


class _Csr:
    """One half: row starts, columns, values."""

    def __init__(self, starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        self.starts, self.columns, self.values, self.shape = starts, columns, values, shape
        self._tensor: Tensor | None = None

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device) -> _Csr:
        starts = torch.from_numpy(matrix.indptr.astype(np.int32)).to(device)
        columns = torch.from_numpy(matrix.indices.astype(np.int32)).to(device)
        values = torch.from_numpy(matrix.data.astype(np.float32)).to(device)
        return cls(starts, columns, values, (int(matrix.shape[0]), int(matrix.shape[1])))

    def with_values(self, values: Tensor) -> _Csr:
        return _Csr(self.starts, self.columns, values, self.shape)

    def tensor(self) -> Tensor:
        """Torch's own CSR tensor, made once; its notice that the layout is in beta is not ours to pass on."""
        if self._tensor is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self._tensor = torch.sparse_csr_tensor(
                    self.starts, self.columns, self.values, size=self.shape, check_invariants=False
                )
        return self._tensor

    def times(self, dense: Tensor) -> Tensor:
        if dense.is_cuda:
            return self.tensor() @ dense
        if not self.values.numel():
            return dense.new_zeros(self.shape[0], dense.shape[1])
        return F.embedding_bag(
            self.columns,
            dense.contiguous(),
            self.starts,
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, forward_half: _Csr, backward_half: _Csr) -> Tensor:
        ctx.backward_half = backward_half
        return forward_half.times(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return ctx.backward_half.times(gradients[0]), None, None
