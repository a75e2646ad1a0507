"""ProGNN: a sparse, low-rank graph near the given one is learned together with the weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.edges import find_keys
from gvdn.graph.graph import edge_keys, find_ids
from gvdn.graph.nearest import nearest_by_features
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities
from gvdn.methods.search import Space, space
from gvdn.nn.diffusion import cross_entropy
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.learned_graph import AttackedCandidates, CandidateView, LearnedGraph, leading_eigenpairs, nuclear_step
from gvdn.training.loop import Labelled, LabelTask, Terms

FIRST_ITERATIONS, NEXT_ITERATIONS = 10, 2
"""Steps of subspace iteration: from a random start, and from the last epoch's vectors."""


@dataclass
class ProGNN(Base):
    """Jin et al., Graph structure learning for robust graph neural networks (KDD 2020).

    Minimises |A - S|_F^2 + alpha |S|_1 + beta |S|_* + gamma L_ce(S, W) over the weights W of a GCN (Adam, `steps` per
    epoch) and a weighted graph S with entries in [0, 1] (one proximal gradient step per epoch, with momentum).

    Published code holds S as N x N and takes a full SVD of it in every epoch. Here S lives on candidate edges, the
    existing ones and each node's `neighbours` nearest by features, and the nuclear norm's step acts on the `rank`
    leading singular values, updated from epoch to epoch; with all pairs and full rank it is the exact step (tested).
    The Frobenius term is squared, as in the paper; the published code takes the norm. The smoothness term is left out:
    the GVDN paper sets its lambda to 0.

    The learned weights belong to pairs of nodes of the fit, so on another graph ProGNN uses a snapshot: an edge between
    such nodes has its learned weight; an edge that was removed has none, and a new edge has weight 1.

    An attack goes through the snapshot: the gradient into an edge of the fit is multiplied by its learned weight, and
    none flows into an edge between nearest neighbours, which have their learned weight without it.
    """

    epochs: int = 100
    alpha: float = 5e-4
    beta: float = 1.5
    gamma: float = 1.0
    steps: int = 2
    structure_rate: float = 0.01
    momentum: float = 0.9
    neighbours: int = 5
    rank: int = 50

    name: ClassVar[str] = "prognn"
    why_opaque: ClassVar[str] = ""
    saved: ClassVar[Mapping[str, str]] = {"ids": "ids n", "pairs": "rows m 2", "existing": "bool m"}
    ranges: ClassVar = {
        "at least 1": ("steps", "rank"),
        "at most 10,000": ("steps", "rank", "neighbours"),
        "positive": ("structure_rate",),
        "at least 0": ("alpha", "beta", "gamma", "neighbours", "momentum"),
    }
    capabilities: ClassVar[Capabilities] = Capabilities(snapshot=True, embeds=True)
    search_space: ClassVar[Space] = space(beta=(0.5, 1.5, 5.0), neighbours=(0, 5, 10))

    def prepare(self, graph: Graph) -> None:
        self.ids_ = graph.ids
        self.pairs_, self.existing_ = candidate_edges(graph, self.neighbours)

    def rounds(self) -> int:
        return self.epochs * self.steps

    def build(self, features: int, classes: int, generator: Generator | None) -> LearnedGraph:
        weights = torch.from_numpy(self.existing_.astype(np.float32))
        return LearnedGraph(PlainGNN(features, self.hidden, classes, generator=generator), weights)

    def view(self, graph: Graph) -> CandidateView:
        nodes, mine = graph.num_nodes, self._candidates(graph)
        keys, theirs = edge_keys(mine, nodes), edge_keys(graph.edges, nodes)
        there = (mine >= 0).all(axis=1) & (~self.existing_ | np.isin(keys, theirs))
        every = np.union1d(theirs, keys[there])
        learned = np.full(len(every), -1)
        learned[np.searchsorted(every, keys[there])] = np.flatnonzero(there)
        return CandidateView(graph, np.stack([every // nodes, every % nodes], axis=1), learned, self.torch_device())

    def through(self, graph: Graph) -> tuple[Any, Callable[[Any], Tensor]]:
        mine, weights = self._candidates(graph), self.network_.weights
        always = (mine >= 0).all(axis=1) & ~self.existing_
        S, learned = self.view(graph).with_learned(weights).S, weights[torch.from_numpy(always).to(weights.device)]
        return AttackedCandidates(graph, S, mine[always], learned, self.torch_device()), self.network_.gnn

    def link_factors(self, graph: Graph, pairs: Int64[np.ndarray, "m 2"]) -> Float32[np.ndarray, " m"]:
        """The learned weight of a link of the fit, and 1 for a pair that has none.

        A candidate that was no link then has its learned weight without a link, and with one the product of it and the
        weight of the link: the factor of such a link is what the product has more, 0 in a graph without weights.
        """
        mine = self._candidates(graph)
        here = np.flatnonzero((mine >= 0).all(axis=1))
        keys = edge_keys(mine[here], graph.num_nodes)
        order = np.argsort(keys)
        found = find_keys(keys[order], edge_keys(pairs, graph.num_nodes))
        factors, which = np.ones(len(pairs), dtype=np.float32), here[order][found[found >= 0]]
        more = 1 - 1 / graph.weights_of(pairs[found >= 0])
        factors[found >= 0] = self.network_.weights.cpu().numpy()[which] * np.where(self.existing_[which], 1, more)
        return factors

    def _candidates(self, graph: Graph) -> Int64[np.ndarray, "m 2"]:
        """The pairs of the fit as positions in a graph (smaller, larger), -1 for a node that is not there."""
        return np.sort(find_ids(graph.ids, self.ids_)[self.pairs_], axis=1)

    def adopted(self, network: Any, graph: Graph) -> dict[str, Tensor]:
        """The weights of the GCN; those of the edges are learned anew, from the graph as it is."""
        return self.network_.state_dict() | {"weights": network.weights}

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> "StructureTask":
        passes = (partial(self.learn, network, view), partial(self.answer, network, view))
        weights = self.class_weights(train[1])
        return StructureTask(network, *passes, train, val, self.select, weights, view=view, settings=self)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return super().optimizer(network.gnn)


@dataclass
class StructureTask(LabelTask):
    """Learning from labels, with one step of the graph after every `steps` steps of the weights."""

    network: LearnedGraph
    view: CandidateView = field(kw_only=True)
    settings: ProGNN = field(kw_only=True)

    def __post_init__(self) -> None:
        weights = self.network.weights
        self.given, self.velocity = weights.clone(), torch.zeros_like(weights)
        self.basis = torch.empty(self.view.num_nodes, 0, device=weights.device)

    def losses(self, epoch: int, generator: Generator) -> Terms:
        if epoch > 0 and epoch % self.settings.steps == 0:
            self.network.weights.copy_(self.next_weights(generator))
        return super().losses(epoch, generator)

    def next_weights(self, generator: Generator) -> Float[Tensor, " m"]:
        """One proximal gradient step of S; the weight of an edge is its entry S_ij = S_ji."""
        how, weights = self.settings, self.network.weights
        gradient = 2 * (weights - self.given) + self.gradient_of_cross_entropy(generator) / 2
        self.velocity = how.momentum * self.velocity + gradient
        weights = weights - how.structure_rate * self.velocity
        if how.beta > 0:
            weights = weights - self._towards_low_rank(weights, how.structure_rate * how.beta, generator)
        return (weights - how.structure_rate * how.alpha).clamp(0, 1)  # soft threshold, then [0, 1]

    def gradient_of_cross_entropy(self, generator: Generator) -> Float[Tensor, " m"]:
        """The gradient of gamma L_ce with respect to the weight of each edge, which is two entries of S."""
        weights = self.network.weights.clone().requires_grad_()
        nodes, labels = self.train
        logits = self.network.gnn(self.view.with_learned(weights), dropout=Dropout(self.settings.dropout, generator))
        loss = self.settings.gamma * cross_entropy(logits[nodes], labels, self.class_weights)
        return torch.autograd.grad(loss, weights)[0]

    @torch.no_grad()
    def _towards_low_rank(
        self, weights: Float[Tensor, " m"], threshold: float, generator: Generator
    ) -> Float[Tensor, " m"]:
        nodes, rank = self.view.num_nodes, min(self.settings.rank, self.view.num_nodes)
        known = self.basis.shape[1] == rank
        start = self.basis if known else torch.randn(nodes, rank, generator=generator, device=weights.device)
        iterations = NEXT_ITERATIONS if known else FIRST_ITERATIONS
        values, self.basis = leading_eigenpairs(self.view.edges.adjacency(weights), start, iterations)
        return nuclear_step(values, self.basis, self.view.pairs, threshold)

    def carried(self) -> Terms:
        return {"velocity": self.velocity, "basis": self.basis}

    def carry(self, state: Terms) -> None:
        velocity, basis = state["velocity"], state["basis"]
        if velocity.shape != self.velocity.shape or basis.ndim != 2 or len(basis) != self.view.num_nodes:
            got = f"{list(velocity.shape)} and {list(basis.shape)}"
            raise InvalidInput(f"expected a velocity for each edge and a basis with a row for each node, got {got}")
        self.velocity, self.basis = velocity, basis


def candidate_edges(graph: Graph, neighbours: int) -> tuple[Int64[np.ndarray, "m 2"], Bool[np.ndarray, " m"]]:
    """The edges and each node's nearest by features, in lexicographic order, and which of them exist."""
    nodes = graph.num_nodes
    existing = edge_keys(graph.edges, nodes)
    every = np.union1d(existing, edge_keys(nearest_by_features(graph, neighbours), nodes))
    return np.stack([every // nodes, every % nodes], axis=1), np.isin(every, existing)
