"""GTrans: at test time, features and links of a graph are changed by a loss of a fitted GCN that reads no label."""

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.graph import Graph, GraphLike
from gvdn.graph.graph import adjacency_from_pairs, edge_keys, find_ids
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.methods.search import Space, space
from gvdn.nn.flips import FlippedLinks, Flips, Pairs, largest, project, random_pairs
from gvdn.nn.transformed import ShiftedView, dropped_links, surrogate_loss
from gvdn.nn.view import View, propagation
from gvdn.schema import Field, Schema
from gvdn.seeds import torch_generator
from gvdn.training.loop import Callback, Outcome

DRAWS = 5
"""Sets of flips that are tried at the end: the largest, and draws by their size."""


@dataclass
class GTrans(Base):
    """Jin et al., Empowering graph representation learning with test-time graph transformation (ICLR 2023).

    The classifier is the plain GCN, to the bit that of the method `gcn` with the same seed. `recover(graph)` leaves its
    weights as they are and changes the graph: rounds of Adam on a change of the features, four of every five, and
    of projected steps on flips of links, at most `edge_fraction` of them, lower a surrogate loss that reads no label
    (`nn.transformed.surrogate_loss`): hidden representations shall change little when a share `edge_dropout` of the
    links is dropped, and much when features are shuffled. The recovered model stores what it changed by node id, and
    applies it to the graphs that it is given; a recovery holds for one graph.

    Candidates for flips are the links of the graph, as in the published code by default, and `block_size` random pairs
    besides. That code takes the validation labels to choose among its rounds in its robustness experiments; here the
    last round is taken. Its Adam for the links begins anew in each round; here there is one.

    Settings were tuned for each graph and network; those here are the defaults of the published code but for
    feature_rate. Adam moves every entry of the features by about this rate in each round, so it has to fit their size:
    the published 1e-3 is for other features and did harm on a graph whose rows of many words sum to 1; the default is
    one of the published values, 1e-6 to 5e-3, that did not there. It was not tuned beyond that, nor on other graphs.

    While it is learned, the change of the features is a dense n x d matrix; what is stored has n x hidden numbers.

    Args:
        recovery_epochs: rounds of the transformation.
        feature_rate: learning rate of the change of the features.
        link_rate: learning rate of the flips.
        edge_fraction: the budget of flips, as a share of the links.
    """

    recovery_epochs: int = 50
    feature_rate: float = 1e-5
    link_rate: float = 0.1
    edge_fraction: float = 0.1
    edge_dropout: float = 0.05
    block_size: int = 0

    name: ClassVar[str] = "gtrans"
    static: ClassVar[bool] = True
    search_space: ClassVar[Space] = space(feature_rate=(1e-5, 1e-4, 1e-3), edge_fraction=(0.05, 0.1, 0.3))
    capabilities: ClassVar[Capabilities] = Capabilities(
        threat_models=(ThreatModel.EVASION,), recovers=True, recovers_per_graph=True, embeds=True
    )
    saved: ClassVar[Mapping[str, str]] = {
        "ids": "ids n",
        "shift": "float32 n hidden",
        "pairs": "rows m 2",
        "removed": "bool m",
    }
    known_facts: ClassVar[Schema] = {"recovered": Field(bool)}
    ranges: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "at least 1": ("recovery_epochs",),
        "at most 1,000,000": ("recovery_epochs", "block_size"),
        "positive": ("feature_rate", "link_rate"),
        "at least 0": ("block_size",),
        "[0, 1]": ("edge_fraction",),
        "[0, 1)": ("edge_dropout",),
    }

    def opaque(self) -> str:
        return "after recover it sees the graph as it was transformed" if self.recovered_ else ""

    def purpose(self) -> str:
        """The word of the method `gcn`, so that both have the same classifier."""
        return "gcn"

    def prepare(self, graph: Graph) -> None:
        """Forget what an earlier recovery changed."""
        self.recovered_, self.ids_ = False, graph.ids[:0]
        self.shift_ = np.empty((0, self.hidden), dtype=np.float32)
        self.pairs_, self.removed_ = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool)

    def view(self, graph: Graph) -> Any:
        if not self.recovered_:
            return super().view(graph)
        rows, shift = find_ids(self.ids_, graph.ids), np.zeros((graph.num_nodes, self.hidden), dtype=np.float32)
        shift[rows >= 0] = self.shift_[rows[rows >= 0]]
        return ShiftedView(self.transformed(graph), torch.from_numpy(shift).to(self.device), self.torch_device())

    def transformed(self, graph: GraphLike) -> Graph:
        """The graph with the links that the recovery flipped; a link is removed, or added, once."""
        graph = self.accepted(graph)
        mine = np.sort(find_ids(graph.ids, self.ids_)[self.pairs_], axis=1)
        there = (mine >= 0).all(axis=1)
        flipped, links = (edge_keys(pairs, graph.num_nodes) for pairs in (mine[there], graph.edges))
        removed = self.removed_[there]
        left = ~np.isin(links, flipped[removed])
        added = np.setdiff1d(flipped[~removed], links)
        keys = np.concatenate([links[left], added])
        weights = np.concatenate([graph.edge_weights[left], np.ones(len(added), dtype=np.float32)])
        pairs = np.stack([keys // graph.num_nodes, keys % graph.num_nodes], axis=1)
        return dataclasses.replace(graph, adjacency=adjacency_from_pairs(pairs, graph.num_nodes, weights))

    def recover(self, graph: GraphLike, *, callback: Callback | None = None) -> "GTrans":
        """Transform this graph for the fitted GCN: returns a new fitted model; this one stays as it was.

        Args:
            callback: called after each round with its number, from 1, and its loss.
        """
        graph = self.accepted(graph)
        new = copy.copy(self)
        new.prepare(graph)
        work = _Transformation(new, graph)
        new.outcome_ = work.run(callback)
        new.recovered_, new.val_probs_, new.ids_ = True, None, graph.ids
        new.shift_ = work.shift().cpu().numpy()
        new.pairs_, new.removed_ = work.flipped()
        return new

    def recovery_rounds(self) -> int:
        return self.recovery_epochs

    def facts(self) -> dict[str, Any]:
        return {"recovered": self.recovered_}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)
        self.recovered_ = bool(facts["recovered"])


FEATURE_ROUNDS, EVERY = 4, 5
"""Of so many rounds, the first ones change the features and the others the links."""


class _Transformation:
    """The change of one graph: D of the features, and flips of links; both begin with nothing."""

    def __init__(self, model: GTrans, graph: Graph) -> None:
        self.model, self.graph, device = model, graph, model.torch_device()
        self.generator = torch_generator(model.seed_, "recover", model.name, device=device)
        self.W = model.network_.first.W.detach()
        self.XW = View(propagation(graph, "gcn", device), graph, device, changing=True).project(self.W)
        self.candidates: Pairs = np.unique(
            np.concatenate([graph.edges, random_pairs(graph.num_nodes, model.block_size, self.generator)]), axis=0
        )
        self.links, self.budget = (
            FlippedLinks(graph, self.candidates, device),
            round(model.edge_fraction * graph.num_edges),
        )
        self.D = torch.zeros(graph.num_nodes, graph.num_features, device=device, requires_grad=True)
        self.flips = self.links.none().requires_grad_()
        self.by_features = torch.optim.Adam([self.D], lr=model.feature_rate)
        self.by_links = torch.optim.Adam([self.flips], lr=model.link_rate)

    def run(self, callback: Callback | None) -> Outcome:
        """All rounds, and the choice of whole flips at the end."""
        history = []
        for number in range(self.model.recovery_epochs):
            features = number % EVERY < FEATURE_ROUNDS
            loss = self._by_features() if features else self._by_links()
            history.append({"surrogate": loss})
            if callback is not None:
                callback(number + 1, history[-1])
        with torch.no_grad():
            self.flips = self._whole_flips()
        return Outcome(len(history) - 1, None, history)

    @torch.no_grad()
    def shift(self) -> Float[Tensor, "n h"]:
        """D W, which is what the first layer sees of the change of the features."""
        return self.D @ self.W

    def flipped(self) -> tuple[Pairs, np.ndarray]:
        """The pairs that are flipped, and which of them were links."""
        chosen = self.flips.detach().cpu().numpy() > 0
        pairs, nodes = self.candidates[chosen], self.graph.num_nodes
        return pairs, np.isin(edge_keys(pairs, nodes), edge_keys(self.graph.edges, nodes))

    def _by_features(self) -> float:
        loss = self._loss(self.XW + self.D @ self.W, self.flips.detach(), self.generator)
        self.by_features.zero_grad(set_to_none=True)
        loss.backward()
        self.by_features.step()
        return float(loss.detach())

    def _by_links(self) -> float:
        loss = self._loss(self.XW + self.shift(), self.flips, self.generator)
        self.by_links.zero_grad(set_to_none=True)
        loss.backward()
        self.by_links.step()
        with torch.no_grad():
            self.flips.copy_(project(self.flips, self.budget))
        return float(loss.detach())

    def _loss(self, rows: Float[Tensor, "n h"], flips: Flips, generator: Generator) -> Float[Tensor, ""]:
        drawn = torch.rand(len(self.links.pairs), generator=generator, device=rows.device)
        order = torch.randperm(len(rows), generator=generator, device=rows.device)
        dropped = dropped_links(self.links, flips, (drawn >= self.model.edge_dropout).float())
        return surrogate_loss(rows, self.links.propagation(flips), dropped, order)

    def _whole_flips(self) -> Flips:
        """The best of several sets of flips within the budget, all under the same draw of dropped links."""
        tried = [largest(self.flips, self.budget)]
        for _ in range(DRAWS - 1):
            drawn = torch.bernoulli(self.flips, generator=self.generator)
            tried += [drawn] if drawn.sum() <= self.budget else []
        rows, model = self.XW + self.shift(), self.model
        same = [
            self._loss(rows, one, torch_generator(model.seed_, "recover", model.name, "flips", device=rows.device))
            for one in tried
        ]
        return tried[int(torch.stack(same).argmin())]
