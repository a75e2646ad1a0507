"""One part as a worker holds it for training: what the network sees of it, its rows of weights, and its labels."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from gvdn.graph.graph import Features
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.encoder import Encoder, Fallback
from gvdn.nn.samplers import Neighbourhood, Replacement
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import DENSE_GAIN, View
from gvdn.parts.exchange import Routes
from gvdn.parts.part import Part
from gvdn.training.loop import Labelled
from gvdn.trust.guard import guarded_rows
from gvdn.trust.rows import l1_norms

NO_FEATURES = np.zeros((0, 0), dtype=np.float32)
"""In place of the features of a part, which are not needed any more once S X is there."""
AT_ONCE = 16
"""Columns of dense features whose rows of the halos are held at a time."""


class PartView(View):
    """S X of the nodes of one part, dense or sparse, whichever is multiplied faster; S itself needs other parts."""

    def __init__(self, SX: Features, device: torch.device) -> None:
        self.num_nodes, self.num_features = SX.shape
        self.X = self.SX = None
        if not isinstance(SX, np.ndarray) and SX.nnz * DENSE_GAIN[device.type] < SX.shape[0] * SX.shape[1]:
            self.X = SparseMatrix(SX, device)
        else:
            self.SX = torch.from_numpy(SX if isinstance(SX, np.ndarray) else SX.toarray()).to(device)

    def aggregate(self, W: Float[Tensor, "d k"], dropout: Dropout = NO_DROPOUT) -> Float[Tensor, "n k"]:
        """S X W, with dropout on S X."""
        return self.project(W, dropout) if self.SX is None else dropout(self.SX) @ W


@dataclass(eq=False)
class Site:
    """A part with all that one epoch needs of it.

    Attributes:
        forward: its rows of S: own nodes x own nodes and halo.
        backward: its rows of S transposed, which is S again unless the aggregator is sage.
        strengths: of own nodes and halo.
        norms, mass: |X| 1 and (A + I) |X| 1 of its own nodes.
        train, val: own nodes and their labels, as `Objective` has them.
        near: the neighbourhoods of the training nodes.
        match: in recovery, nodes and the embeddings that were stored for them.
        fallback: in recovery, what was stored of nodes that lost their features or links.
        replacement: what Algorithm 1 found for the next epoch, in positions of own nodes and halo.
    """

    part: Part
    view: PartView
    forward: SparseMatrix
    backward: SparseMatrix
    strengths: np.ndarray
    norms: np.ndarray
    mass: np.ndarray
    network: Encoder | None = None
    train: Labelled | None = None
    val: Labelled | None = None
    near: Neighbourhood | None = None
    match: tuple[Tensor, Tensor] | None = None
    fallback: Fallback | None = None
    replacement: Replacement | None = None

    @property
    def number(self) -> int:
        return self.part.number

    @property
    def nodes(self) -> int:
        return self.part.nodes

    @property
    def weights(self) -> Encoder:
        assert self.network is not None, "the network is made before the first pass"
        return self.network

    def neighbourhood(self, nodes: np.ndarray, device: torch.device) -> Neighbourhood:
        """The neighbours of some own nodes, in positions of own nodes and halo."""
        return Neighbourhood.of_rows(sp.csr_array(self.part.links[nodes]), self.strengths, nodes, device)

    def forget_links(self) -> None:
        """Free links and strengths, once S and the neighbourhoods are made of them."""
        self.strengths = np.zeros(0)
        empty = sp.csr_array(self.part.links.shape, dtype=np.float32)
        self.part = dataclasses.replace(self.part, links=empty)


def sites_of(
    parts: list[Part], routes: Routes, aggregator: str, device: torch.device, max_norm: float | None = None
) -> list[Site]:
    """The parts of one worker, with S and S X; one exchange of strengths and one of features for each hop of S.

    Args:
        max_norm: rows of a larger L1 norm are scaled down first, as the guard of recovery does.
    """
    features = {
        part.number: part.features if max_norm is None else guarded_rows(part.features, max_norm) for part in parts
    }
    norms = {number: l1_norms(rows) for number, rows in features.items()}
    own = {part.number: np.asarray(part.links.sum(axis=1, dtype=np.float64)).ravel() for part in parts}
    stacked = {n: torch.from_numpy(np.stack([own[n], norms[n]], axis=1)).to(device) for n in own}
    halos = {number: rows.cpu().numpy() for number, rows in routes.gather(stacked).items()}
    strengths = {number: np.concatenate([own[number], halos[number][:, 0]]) for number in own}
    mass = {
        part.number: (part.links @ np.concatenate([norms[part.number], halos[part.number][:, 1]]) + norms[part.number])
        for part in parts
    }
    matrices = {part.number: _propagation(part, strengths[part.number], aggregator) for part in parts}
    for _ in range(2 if aggregator == "sgc" else 1):
        features = _propagated(features, {number: pair[0] for number, pair in matrices.items()}, routes, device)
    made = []
    for part in parts:
        forward, backward = matrices[part.number]
        # Only multiplied from the left, without gradients, so that no transpose is kept.
        S = SparseMatrix(forward, device, symmetric=True)
        T = S if backward is forward else SparseMatrix(backward, device, symmetric=True)
        view, number = PartView(features.pop(part.number), device), part.number
        made.append(
            Site(
                dataclasses.replace(part, features=NO_FEATURES),
                view,
                S,
                T,
                strengths[number],
                norms[number].astype(np.float32),
                mass[number].astype(np.float32),
            )
        )
    return made


def _propagation(part: Part, strengths: np.ndarray, aggregator: str) -> tuple[sp.csr_array, sp.csr_array]:
    """The rows of S and of its transpose that belong to the part (Eq. 1 and 2)."""
    loops = sp.csr_array(sp.eye_array(part.nodes, part.links.shape[1], dtype=np.float32))
    with_loops = sp.csr_array(part.links + loops)
    power = -1.0 if aggregator == "sage" else -0.5
    scale = ((1.0 + strengths) ** power).astype(np.float32)
    rows, columns = sp.diags_array(scale[: part.nodes]), sp.diags_array(scale)
    if aggregator == "sage":
        return sp.csr_array(rows @ with_loops), sp.csr_array(with_loops @ columns)
    both = sp.csr_array(rows @ with_loops @ columns)
    return both, both


def _propagated(
    features: dict[int, Features], S: dict[int, sp.csr_array], routes: Routes, device: torch.device
) -> dict[int, Features]:
    """S X of each part, after an exchange of the rows of the halos; dense X is overwritten, some columns at a time."""
    if any(sp.issparse(rows) for rows in features.values()):
        sparse = {number: sp.csr_array(rows) for number, rows in features.items()}
        halos = routes.gather_sparse(sparse, device)
        return {n: sp.csr_array(S[n] @ sp.vstack([sparse[n], halos[n]], format="csr")) for n in sparse}
    made = {number: rows if rows.flags.writeable else np.empty_like(rows) for number, rows in features.items()}
    for first in range(0, next(iter(features.values())).shape[1], AT_ONCE):
        some = slice(first, first + AT_ONCE)
        columns = {number: rows[:, some].copy() for number, rows in features.items()}
        there = routes.gather({number: torch.from_numpy(rows).to(device) for number, rows in columns.items()})
        for n, rows in columns.items():
            made[n][:, some] = S[n] @ np.concatenate([rows, there[n].cpu().numpy()])
    return made
