"""Products of a sparse matrix with a dense one, forward and backward, and low-rank matrices held as factors."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.nn.device import without_warnings
from gvdn.nn.dropout import Dropout

PIECE = 1 << 16
"""Entries taken at a time where rows are gathered for each of them."""
WIDTH = 4
"""Columns of the gathered rows up to which so many entries are taken on a CPU; of wider rows fewer, which stay in its
cache."""


class SparseMatrix:
    """S in CSR, together with the CSR of its transpose, which is what the backward pass multiplies by.

    The values are constants unless `with_values` gave tensors that require a gradient.

    On a CPU a row of S B is a weighted bag of rows of B, and torch's bag kernel is an order of magnitude faster there
    than its CSR product. On a GPU the CSR product is faster, but adds in an order that changes from run to run; where
    torch is told to be deterministic, the bag is taken there too.
    """

    def __init__(self, matrix: sp.csr_array, device: torch.device, *, symmetric: bool = False) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.nnz = int(matrix.nnz)
        self.forward_half = _Csr.of(matrix, device)
        self.backward_half = self.forward_half
        self.order: Tensor | None = None
        if not symmetric:
            # The indices of the entries, transposed with the pattern, give the order of the values.
            entries = sp.csr_array((np.arange(self.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
            turned = sp.csr_array(entries.T)
            self.order = torch.from_numpy(turned.data.astype(np.int64)).to(device)
            turned = sp.csr_array((matrix.data[turned.data], turned.indices, turned.indptr), shape=turned.shape)
            self.backward_half = _Csr.of(turned, device)

    @classmethod
    def of_pairs(
        cls, u: Int64[Tensor, " p"], v: Int64[Tensor, " p"], values: Float[Tensor, " p"], nodes: int
    ) -> "SparseMatrix":
        """The symmetric n x n matrix of pairs u != v, of which a pair that is repeated adds its values.

        It is made on the device of the tensors by one sort, for patterns that change in every step. Gradients flow
        into the values.
        """
        rows, columns = torch.cat([u, v]), torch.cat([v, u])
        keys, order = (rows * nodes + columns).sort(stable=True)
        lengths = torch.bincount(rows, minlength=nodes)
        starts = F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
        made = object.__new__(cls)
        made.shape, made.nnz, made.order = (nodes, nodes), len(rows), None
        entries = torch.cat([values, values])[order]
        made.forward_half = made.backward_half = _Csr(starts, (keys % nodes).to(torch.int32), entries, made.shape)
        return made

    def __matmul__(self, dense: Float[Tensor, "m k"]) -> Float[Tensor, "n k"]:
        half = self.forward_half
        return _Product.apply(dense, half.values, half, self.backward_half)  # type: ignore[no-untyped-call]

    def polynomial(self, dense: Float[Tensor, "n k"], weights: Float[Tensor, " o"]) -> Float[Tensor, "n k"]:
        """The sum over k of weights[k] S^k B."""
        half = self.forward_half
        return _Polynomial.apply(dense, weights, half.values, half, self.backward_half)  # type: ignore[no-untyped-call]

    def with_values(self, values: Float[Tensor, " e"]) -> "SparseMatrix":
        """The same pattern with other values, entry by entry; a symmetric matrix needs symmetric ones.

        Gradients flow into the values of a symmetric matrix.
        """
        other = object.__new__(SparseMatrix)
        other.shape, other.nnz, other.order = self.shape, self.nnz, self.order
        other.forward_half = other.backward_half = self.forward_half.with_values(values)
        if self.order is not None:
            other.backward_half = self.backward_half.with_values(values[self.order])
        return other

    def dropped(self, dropout: Dropout) -> "SparseMatrix":
        """The same pattern with dropout on the values."""
        if dropout.rate == 0:
            return self
        if self.order is None:
            raise ValueError("a symmetric matrix shares its halves, so its values cannot be dropped")
        return self.with_values(dropout(self.forward_half.values))


class LowRank:
    """diag(scale) (U diag(core) U^T + I) diag(scale), symmetric, never multiplied out: n x r numbers."""

    def __init__(self, U: Float[Tensor, "n r"], core: Float[Tensor, " r"], scale: Float[Tensor, " n"]) -> None:
        self.U, self.core, self.scale = U, core, scale
        self.nnz = 2 * U.numel() + len(U)

    def __matmul__(self, dense: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        scaled = self.scale[:, None] * dense
        return self.scale[:, None] * (self.U @ (self.core[:, None] * (self.U.T @ scaled)) + scaled)


class _Csr:
    """A CSR matrix: row starts, columns, values."""

    def __init__(self, starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        self.starts, self.columns, self.values, self.shape = starts, columns, values, shape
        self._tensor: Tensor | None = None
        self._rows: list[Tensor] = []

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device) -> "_Csr":
        starts = torch.from_numpy(matrix.indptr.astype(np.int32)).to(device)
        columns = torch.from_numpy(matrix.indices.astype(np.int32)).to(device)
        values = torch.from_numpy(matrix.data.astype(np.float32)).to(device)
        return cls(starts, columns, values, (int(matrix.shape[0]), int(matrix.shape[1])))

    def with_values(self, values: Tensor) -> "_Csr":
        other = _Csr(self.starts, self.columns, values, self.shape)
        other._rows = self._rows
        return other

    def rows(self) -> Tensor:
        """The row of every entry, computed once for all matrices of this pattern."""
        if not self._rows:
            every = torch.arange(self.shape[0], dtype=torch.int32, device=self.starts.device)
            lengths = self.starts[1:] - self.starts[:-1]
            self._rows.append(torch.repeat_interleave(every, lengths, output_size=len(self.columns)))
        return self._rows[0]

    def tensor(self) -> Tensor:
        """Torch's CSR tensor, made once; torch's warning that the layout is in beta is suppressed."""
        if self._tensor is None:
            with without_warnings():
                self._tensor = torch.sparse_csr_tensor(
                    self.starts, self.columns, self.values.detach(), size=self.shape, check_invariants=False
                )
        return self._tensor

    def times(self, dense: Tensor) -> Tensor:
        if dense.is_cuda and not torch.are_deterministic_algorithms_enabled():
            return self.tensor() @ dense
        if not self.values.numel():
            return dense.new_zeros(self.shape[0], dense.shape[1])
        return F.embedding_bag(
            self.columns,
            dense.contiguous(),
            self.starts,
            mode="sum",
            per_sample_weights=self.values.detach(),
            include_last_offset=True,
        )

    def dots(self, left: Tensor, right: Tensor) -> Tensor:
        """left[row] . right[column] for every entry: the gradient of a product with respect to the values."""
        size = PIECE if left.is_cuda else max(1, PIECE * WIDTH // max(WIDTH, left.shape[1]))
        pieces = zip(self.rows().split(size), self.columns.split(size), strict=True)
        every = [(left.index_select(0, row) * right.index_select(0, column)).sum(dim=1) for row, column in pieces]
        return torch.cat(every) if len(every) != 1 else every[0]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, values: Tensor, forward_half: _Csr, backward_half: _Csr) -> Tensor:
        ctx.forward_half, ctx.backward_half = forward_half, backward_half
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(dense)
        return forward_half.times(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        into_dense = ctx.backward_half.times(gradients[0]) if ctx.needs_input_grad[0] else None
        into_values = ctx.forward_half.dots(gradients[0], *ctx.saved_tensors) if ctx.needs_input_grad[1] else None
        return into_dense, into_values, None, None


class _Polynomial(torch.autograd.Function):
    """H_k = S^k B, and the sum of weights[k] H_k.

    With g the gradient of the sum and G_k that of H_k in all that follows from it, G_k = weights[k] g + S^T G_(k+1).
    The gradient of an entry of S is the sum over k of G_(k+1)[row] . H_k[column]: one gather for all powers.
    """

    @staticmethod
    def forward(
        ctx: Any, dense: Tensor, weights: Tensor, values: Tensor, forward_half: _Csr, backward_half: _Csr
    ) -> Tensor:
        ctx.forward_half, ctx.backward_half = forward_half, backward_half
        powers = [dense]
        for _ in weights[1:]:
            powers.append(forward_half.times(powers[-1]))
        every = torch.stack(powers)
        ctx.save_for_backward(weights, every if ctx.needs_input_grad[1] or ctx.needs_input_grad[2] else None)
        return torch.tensordot(weights, every, dims=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,), (weights, powers) = gradients, ctx.saved_tensors
        into_weights = torch.tensordot(powers, gradient, dims=2) if ctx.needs_input_grad[1] else None
        backward = [weights[-1] * gradient]
        for number in range(len(weights) - 2, -1, -1):
            backward.append(torch.addcmul(ctx.backward_half.times(backward[-1]), weights[number], gradient))
        into_values = None
        if ctx.needs_input_grad[2]:
            following, before = torch.stack(backward)[:-1], powers[:-1].flip(0)
            wide = (one.transpose(0, 1).flatten(1) for one in (following, before))
            into_values = ctx.forward_half.dots(*wide)
        return backward[-1], into_weights, into_values, None, None
