"""Adversarial training: a network with learned diffusion, trained on a graph that is attacked in every epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.methods.propagating import Propagating
from gvdn.methods.search import Space, space
from gvdn.nn.diffusion import cross_entropy
from gvdn.nn.flips import FlippedLinks, margins, random_pairs, tanh_margin, worst_flips
from gvdn.nn.propagated import GPRGNN
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, propagation
from gvdn.training import optimizers
from gvdn.training.loop import Labelled, LabelTask, Terms
from gvdn.training.selection import score_of


@dataclass
class AdversarialTraining(Propagating):
    """Gosch et al., Adversarial training for graph neural networks: pitfalls, solutions, and new directions (NeurIPS
    2023): minimise over the weights the loss on the graph that an attack within a budget makes worst.

    The network is GPR-GNN (`nn.propagated.GPRGNN`), whose learned diffusion can adjust to an attack. After `warm_up`
    epochs of plain training it labels all unlabelled nodes (self-training), and from then on each epoch flips
    `edge_fraction` of the links of a graph by PRBCD, `attack_steps` steps over `block_size` random pairs, and learns
    from all these labels on the flipped graph. Validation nodes are absent from the training graph (the inductive
    setting of the paper: what was learned of nodes while they were attacked cannot be checked on them), and the epoch
    is chosen by the score on validation nodes of the whole graph, attacked in the same way. An update goes on with
    attacks.

    Learning rate, weight decay, dropout, order and budget are published. Differences that make it affordable: the
    published code takes 20 steps over a million pairs, for up to 3,000 epochs, and trains the network that labels the
    nodes apart; it minimises the tanh margin where here it is the cross entropy, with class weights where asked for.
    The attack's tanh margin is scaled by its median, as in `prbcd`, so that certain answers have a gradient, too.

    Args:
        edge_fraction: flips as a share of the links of the nodes that are attacked.
        order: steps of diffusion.
    """

    hidden: int = 64
    dropout: float = 0.2
    weight_decay: float = 1e-3
    epochs: int = 200
    order: int = 10
    warm_up: int = 100
    self_training: bool = True
    edge_fraction: float = 0.1
    attack_steps: int = 5
    block_size: int = 20_000

    name: ClassVar[str] = "adversarial-training"
    why_opaque: ClassVar[str] = ""
    search_space: ClassVar[Space] = space(edge_fraction=(0.05, 0.1, 0.2), order=(2, 5, 10))
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "order")
    ranges: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "at least 0": ("order", "warm_up"),
        "at most 10,000": ("order", "attack_steps"),
        "at least 1": ("attack_steps", "block_size"),
        "at most 1,000,000": ("block_size",),
        "[0, 1]": ("edge_fraction",),
    }

    def build(self, features: int, classes: int, generator: Generator | None) -> GPRGNN:
        return GPRGNN(features, self.hidden, classes, self.order, RESTART, generator=generator)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        """Adam, without weight decay on the coefficients of the diffusion."""
        others = [part for name, part in network.named_parameters() if name != "gamma"]
        groups: list[dict[str, Any]] = [{"params": others}, {"params": [network.gamma], "weight_decay": 0.0}]
        settings = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        return optimizers.adam(groups, self.torch_device(), **settings)

    def view(self, graph: Graph) -> View:
        return View(propagation(graph, "gcn", self.torch_device()), graph, self.torch_device(), changing=True)

    def spread(self, network: Any, view: Any) -> Any:
        return network.diffuse(view)

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> "AttackedTask":
        passes = (partial(self.learn, network, view), partial(self.answer, network, view))
        weights = self.class_weights(train[1])
        return AttackedTask(network, *passes, train, val, self.select, weights, graph=graph, view=view, settings=self)


RESTART = 0.1
"""alpha of the personalised PageRank that the diffusion begins with."""


@dataclass
class AttackedTask(LabelTask):
    """Learning from given and own labels on a graph that is attacked anew in every epoch."""

    network: GPRGNN
    graph: Graph = field(kw_only=True)
    view: View = field(kw_only=True)
    settings: AdversarialTraining = field(kw_only=True)

    def __post_init__(self) -> None:
        """Set up the training graph, which has all nodes but those of the validation."""
        train, val = (nodes.cpu().numpy() for nodes in (self.train[0], self.val[0]))
        left = np.setdiff1d(np.arange(self.graph.num_nodes), val)
        self.training_graph = self.graph.subgraph(left) if len(val) else self.graph
        self.training_view = self.settings.view(self.training_graph) if len(val) else self.view
        self.nodes = torch.from_numpy(np.searchsorted(left, train)).to(self.train[0].device)
        self.pseudo: Int64[Tensor, " t"] | None = None
        """The labels of all nodes of the training graph, once the network has named them."""

    def losses(self, epoch: int, generator: Generator) -> Terms:
        how, view, nodes, labels = self.settings, self.training_view, self.nodes, self.train[1]
        if int(self.network.trained) >= how.warm_up:
            nodes, labels = self._learned_from()
            view = self._attacked(self.training_graph, view, nodes, labels, generator)
        self.network.train()
        self.network.trained += 1
        logits, _ = how.learn(self.network, view, generator)
        return {"ce": cross_entropy(logits[nodes], labels, self.class_weights)}

    def score(self, generator: Generator) -> Float[Tensor, "2"] | None:
        """The score of the validation nodes on the whole graph under attack."""
        nodes, labels = self.val
        if not len(nodes):
            return None
        view = self._attacked(self.graph, self.view, nodes, labels, generator)
        with torch.no_grad():
            return score_of(self.settings.select, self.settings.answer(self.network, view)[nodes], labels)

    def _learned_from(self) -> Labelled:
        """The training nodes and their labels; with self-training, all nodes, as the network names the others."""
        if not self.settings.self_training:
            return self.nodes, self.train[1]
        if self.pseudo is None:
            self.network.eval()
            with torch.no_grad():
                named = self.settings.answer(self.network, self.training_view).argmax(dim=1)
            self.pseudo = named.index_copy(0, self.nodes, self.train[1])
        return torch.arange(len(self.pseudo), device=self.pseudo.device), self.pseudo

    def _attacked(self, graph: Graph, view: View, nodes: Tensor, labels: Tensor, generator: Generator) -> View:
        """The view of the graph after an attack on these nodes, by random pairs of its own."""
        how = self.settings
        self.network.eval()
        pairs = random_pairs(graph.num_nodes, how.block_size, generator)
        budget = round(how.edge_fraction * links_of(graph, nodes.cpu().numpy()))

        with torch.no_grad():
            alone, gamma = self.network.alone(view), self.network.gamma.detach()
            before = margins(view.S.polynomial(alone, gamma)[nodes], labels)  # type: ignore[union-attr]  # sparse
        scale = max(1.0, float(before.abs().median()))

        def loss(S: SparseMatrix) -> Float[Tensor, ""]:
            return tanh_margin(S.polynomial(alone, gamma)[nodes], labels, scale)

        links = FlippedLinks(graph, pairs, nodes.device)
        return view.through(links.propagation(worst_flips(links, loss, budget, how.attack_steps)))

    def carried(self) -> Terms:
        return {} if self.pseudo is None else {"pseudo": self.pseudo}

    def carry(self, state: Terms) -> None:
        pseudo, number = state.get("pseudo"), self.training_graph.num_nodes
        if set(state) - {"pseudo"} or (
            pseudo is not None
            and (
                pseudo.shape != (number,)
                or pseudo.dtype != torch.int64
                or not 0 <= int(pseudo.min()) <= int(pseudo.max()) < self.network.W_2.shape[1]
            )
        ):
            raise InvalidInput(f"expected labels of the {number} nodes of the training graph, or none")
        self.pseudo = pseudo


def links_of(graph: Graph, nodes: Positions) -> int:
    """The number of links that have an end among these nodes."""
    chosen = np.zeros(graph.num_nodes, dtype=bool)
    chosen[nodes] = True
    return int(chosen[graph.edges].any(axis=1).sum())
