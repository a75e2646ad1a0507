"""GPR-GAE: every link gets the probability that it is genuine as its weight, then a GCN that never saw a change."""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Split
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities, ThreatModel
from gvdn.methods.search import Space, space
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.gpr_gae import AttackedLinks, LinkAutoEncoder, PurifyingGNN, normalised_links
from gvdn.nn.pairs import NonLinks
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View
from gvdn.training.loop import Labelled, LabelTask, Terms

STILL = 1e-3
"""The weights stand still when their sum changes by less than this share of it."""
SMALLEST = 1e-6
"""The smallest weight: a graph has no links of weight 0."""


@dataclass
class GPRGAE(Base):
    """Lee and Park, Self-supervised adversarial purification for graph neural networks (ICML 2025).

    An auto-encoder (`nn.gpr_gae`) learns from the graph of the fit, without labels, which links are genuine. Each of
    its `link_steps` draws `non_links` times as many unlinked pairs as there are links, leaves the share `left_out` of
    both out, puts the rest of both into the graph with random weights from 1 to `heaviest`, and takes a step of Adam
    on the cross entropy of all links against all drawn pairs, plus `symmetry` times the squared difference of the two
    directions of a pair.

    At inference the links of a graph get their probabilities as weights, the auto-encoder sees the weighted graph, and
    so on for `passes` passes or until the sum of the weights stands still. The classifier is the plain GCN, fitted on
    the graph as it was given: the same one, to the bit, as that of the method `gcn` with the same seed. Weights that
    the graph has are multiplied by the probabilities.

    The auto-encoder was trained on the very links of the nodes of the fit, and tells links between these that came
    later almost perfectly; how well it judges other links is measured on new nodes.

    The steps of the auto-encoder are spread over the epochs of the classifier, with which it shares no weight, so that
    one training can be watched, stopped and resumed. Its weights are those of the last step. The width of the
    decoder, the first coefficients of the filters and what standing still means are ours.

    An attack goes through all passes and the classifier (`nn.gpr_gae.AttackedLinks`): a link has a gradient by what its
    own weight does and by what it does to the probabilities of all links. After which pass to stop is a constant.
    """

    link_steps: int = 2000
    link_rate: float = 1e-2
    link_decay: float = 1e-4
    filters: int = 7
    width: int = 128
    pair_width: int = 128
    non_links: float = 1.5
    left_out: float = 0.2
    heaviest: float = 3.0
    symmetry: float = 0.2
    passes: int = 5

    name: ClassVar[str] = "gpr-gae"
    why_opaque: ClassVar[str] = ""
    capabilities: ClassVar[Capabilities] = Capabilities(threat_models=(ThreatModel.EVASION,), embeds=True)
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "filters", "width", "pair_width")
    search_space: ClassVar[Space] = space(non_links=(0.75, 1.5, 3.0), passes=(1, 3, 5))
    ranges: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "at least 1": ("link_steps", "filters", "width", "pair_width", "heaviest"),
        "at most 10,000": ("filters", "width", "pair_width", "non_links", "passes"),
        "at most 1,000,000": ("link_steps",),
        "positive": ("link_rate", "non_links", "heaviest"),
        "at least 0": ("link_decay", "symmetry", "passes"),
        "[0, 1)": ("left_out",),
    }

    def purpose(self) -> str:
        """The word of the method `gcn`, so that both have the same classifier."""
        return "gcn"

    def build(self, features: int, classes: int, generator: Generator | None) -> PurifyingGNN:
        gnn = PlainGNN(features, self.hidden, classes, generator=generator)
        shape = (features, self.width, self.filters, self.pair_width)
        return PurifyingGNN(gnn, LinkAutoEncoder(*shape, generator=generator))

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return super().optimizer(network.gnn)

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> "PurifierTask":
        # A copy: the network is set back to its best epoch in the end, and the auto-encoder keeps its last step.
        self.auto_encoder_ = copy.deepcopy(network.auto_encoder)
        passes = (partial(self.learn, network, view), partial(self.answer, network, view))
        links = LinkTraining(self.auto_encoder_, graph, self)
        return PurifierTask(network, *passes, train, val, self.select, self.class_weights(train[1]), links=links)

    def remember(self, graph: Graph, split: Split) -> None:
        """Put the trained auto-encoder beside the classifier; an update without an epoch trained none."""
        trained = vars(self).pop("auto_encoder_", None)
        if trained is not None:
            self.network_.auto_encoder = trained.eval()

    def purified(self, graph: GraphLike) -> Graph:
        """The graph with the weight of each link multiplied by the probability that the link is genuine."""
        graph = self.accepted(graph)
        if not (graph.num_edges and self.passes):
            return graph
        probs = self.link_probabilities(graph).clip(SMALLEST, 1)
        weights = np.maximum(graph.edge_weights * probs, np.finfo(np.float32).tiny)
        return dataclasses.replace(graph, adjacency=adjacency_from_pairs(graph.edges, graph.num_nodes, weights))

    def link_probabilities(self, graph: Graph) -> Float[np.ndarray, " m"]:
        """The probability that each of the graph's links is genuine, after the last pass."""
        u, v, own, view = _links(graph, self.torch_device())

        def judged(probs: Tensor) -> Tensor:
            S = normalised_links(u, v, own * probs, graph.num_nodes)
            return self.network_.auto_encoder.probabilities(view.through(S), u, v)

        return self._passed(judged, torch.ones_like(own)).cpu().numpy()

    def through(self, graph: Graph) -> tuple[AttackedLinks, Callable[[AttackedLinks], Tensor]]:
        def logits(view: AttackedLinks) -> Tensor:
            def judged(probs: Tensor) -> Tensor:
                return self.network_.auto_encoder.probabilities_through(view.normalised(probs), view.u, view.v)

            probs = self._passed(judged, view.there.detach())
            return self.answer(self.network_, view.weighed(probs.clamp(SMALLEST, 1)))

        return AttackedLinks(graph, self.torch_device()), logits

    def _passed(
        self, judged: Callable[[Float[Tensor, " m"]], Float[Tensor, " m"]], there: Float[Tensor, " m"]
    ) -> Float[Tensor, " m"]:
        """The probabilities after the last pass; a pass judges links that are weighed by the probabilities so far.

        The sum that stands still is over links as far as they are there.
        """
        probs, before = torch.ones_like(there), there.double().sum().item()
        for _ in range(self.passes):
            probs = judged(probs.clamp(min=SMALLEST))
            total = (there.double() * probs.detach().double()).sum().item()
            if abs(total - before) <= STILL * before:
                break
            before = total
        return probs

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node, on the purified graph."""
        return super().predict_proba(self.purified(graph))

    def embed(self, graph: GraphLike) -> Float[np.ndarray, "n h"]:
        """The hidden representation of every node, on the purified graph."""
        return super().embed(self.purified(graph))


class LinkTraining:
    """The training of an auto-encoder on the links of one graph, a few steps at a time."""

    def __init__(self, auto_encoder: LinkAutoEncoder, graph: Graph, settings: GPRGAE) -> None:
        self.auto_encoder, self.settings, self.nodes = auto_encoder, settings, graph.num_nodes
        self.u, self.v, self.own, self.view = _links(graph, settings.torch_device())
        self.non_links = NonLinks(self.u, self.v, self.nodes)
        parameters, rate, decay = auto_encoder.parameters(), settings.link_rate, settings.link_decay
        self.optimizer = torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
        self.loss = self.own.new_zeros(())
        """Of the last step."""

    def epoch(self, number: int, generator: Generator) -> Float[Tensor, ""]:
        """The steps of this epoch of the classifier, at least one in the first; returns the loss of the last step."""
        steps, epochs = self.settings.link_steps, self.settings.epochs
        first, last = (-(-epoch * steps // epochs) for epoch in (number, number + 1))
        for _ in range(last - first if len(self.u) else 0):
            self.step(generator)
        return self.loss

    def step(self, generator: Generator) -> None:
        """One step, with unlinked pairs and weights of its own."""
        how, number = self.settings, len(self.u)
        false_u, false_v = self.non_links.draw(round(how.non_links * number), generator)
        u, v = torch.cat([self.u, false_u]), torch.cat([self.v, false_v])
        alike = torch.randint(number, (len(false_u),), generator=generator, device=u.device)
        own = torch.cat([self.own, self.own[alike]])  # an unlinked pair has the weight of some link
        share, left = torch.rand(2, len(u), generator=generator, device=u.device)
        weights = own * (1 + (how.heaviest - 1) * share) * (left >= how.left_out)
        genuine = (torch.arange(len(u), device=u.device) < number).float()
        view = self.view.through(normalised_links(u, v, weights, self.nodes))
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = self.auto_encoder.learn(view, u, v, genuine, how.symmetry)
        self.optimizer.step()

    def carried(self) -> Terms:
        state = self.optimizer.state_dict()["state"]
        adam = {f"adam.{number}.{name}": part for number, parts in state.items() for name, part in parts.items()}
        return {f"weights.{name}": part for name, part in self.auto_encoder.state_dict().items()} | adam | self._loss()

    def carry(self, given: Terms) -> None:
        parameters = dict(self.auto_encoder.named_parameters())
        wanted = {f"weights.{name}": part for name, part in parameters.items()} | self._loss()
        state: dict[int, Terms] = {}
        for number, part in enumerate(parameters.values() if len(self.u) else ()):
            state[number] = {"step": torch.zeros(()), "exp_avg": part, "exp_avg_sq": part}
            wanted |= {f"adam.{number}.{name}": like for name, like in state[number].items()}
        kinds = [{name: (part.dtype, part.shape) for name, part in parts.items()} for parts in (wanted, given)]
        if kinds[0] != kinds[1]:
            raise InvalidInput("expected the weights of an auto-encoder of these settings, and the state of their Adam")
        self.auto_encoder.load_state_dict({name: given[f"weights.{name}"] for name in parameters})
        moments = {number: {name: given[f"adam.{number}.{name}"] for name in parts} for number, parts in state.items()}
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.loss = given["loss"]

    def _loss(self) -> Terms:
        return {"loss": self.loss}


@dataclass
class PurifierTask(LabelTask):
    """Learning from labels, and in each epoch some steps of the auto-encoder, which has an optimizer of its own."""

    links: LinkTraining = field(kw_only=True)

    def losses(self, epoch: int, generator: Generator) -> Terms:
        terms = super().losses(epoch, generator)  # first, so that the classifier's random numbers are those of gcn
        return terms | {"links": self.links.epoch(epoch, generator)}

    def carried(self) -> Terms:
        return self.links.carried()

    def carry(self, state: Terms) -> None:
        self.links.carry(state)


def _links(graph: Graph, device: torch.device) -> tuple[Tensor, Tensor, Tensor, View]:
    """The ends of the links, their weights, and a view of the features through which any links can be propagated."""
    u, v = (torch.from_numpy(end.copy()).to(device) for end in graph.edges.T)
    S = SparseMatrix(graph.adjacency, device, symmetric=True)
    return u, v, torch.from_numpy(graph.edge_weights.copy()).to(device), View(S, graph, device, changing=True)
