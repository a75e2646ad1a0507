"""White-box access to a fitted model: weights for Nettack, gradients with respect to edges for PRBCD."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.checks import positions
from gvdn.graph.graph import edge_keys
from gvdn.methods.base import Base
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.choice import IN_TURN, JUDGING
from gvdn.methods.references.gcn import GNN
from gvdn.methods.trusted import Trusted
from gvdn.nn.view import WeightedEdges
from gvdn.trust.front import Front, front_of
from gvdn.trust.model import judged_alone, witnesses
from gvdn.trust.rows import Pairs
from gvdn.trust.scene import ERROR

TINY = 1e-30
"""Below this a probability counts as this much, so that its logarithm is finite."""


@dataclass(frozen=True, eq=False)
class WhiteBox:
    """A fitted method as the model of `prbcd` and its relatives, or a GCN or GVDN as the surrogate of `nettack`.

    Gradients pass through what a method does with links: the filter of GCN-Jaccard, the variances of RGCN, the orders
    of GRAND, the guard of GVDN. MC Dropout is attacked without its dropout. A method whose answers cannot be
    differentiated with respect to links is refused with the reason. A GVDN that recovered with trust is attacked as it
    answers: through what trust says of the links of the graph, and with the stored answers that it mixes in. For
    Nettack a GVDN is linearised as the GCN that its head H and its output layer make.

    Args:
        model: a fitted method, or one with trust in front (`gvdn.Trusted`).
        unknown: given, the attack is aimed through the trust that a GVDN recovers with, or that is in front of another
            method; nothing is stored of these nodes.
    """

    model: Any
    unknown: Positions | None = None

    def __post_init__(self) -> None:
        method = self.method
        if not isinstance(method, Base) or not method.is_fitted:
            named = f"a {method.name} that is not fitted" if isinstance(method, Base) else type(method).__name__
            raise InvalidInput(f"expected a fitted method to attack, got {named}; fit it, or load a saved one")
        if reason := method.opaque():
            raise InvalidInput(
                f"expected a method to attack along the gradient into links, got {method.name}: {reason}; "
                "attack a gcn instead, whose flips transfer"
            )
        trusts = isinstance(self.model, Trusted | GVDN)
        if self.unknown is not None and not trusts:
            raise InvalidInput(
                f"expected a gvdn, or a method with trust in front, to attack through trust, got {method.name}; "
                "give gvdn.Trusted(model, graph)"
            )
        if self.unknown is None and isinstance(self.model, Trusted):
            raise InvalidInput("expected the nodes of which nothing is stored to attack through trust; give unknown")
        if self.unknown is not None:
            object.__setattr__(self, "unknown", positions("unknown", self.unknown))

    @property
    def method(self) -> Any:
        """The method itself, without the trust in front."""
        return self.model.model if isinstance(self.model, Trusted) else self.model

    @property
    def W(self) -> Float[np.ndarray, "d K"]:
        """The product of the weights of both layers: the model without its activation."""
        model = self.model
        if not isinstance(model, GNN | GVDN):
            raise InvalidInput(
                f"expected a gcn or gvdn as the surrogate of nettack, got {self.method.name}; train a gcn"
            )
        network = model.network_
        first = network.heads.W[:, : model.hidden] if isinstance(model, GVDN) else network.first.W
        W_1, W_2 = (W.detach().double().cpu().numpy() for W in (first, network.out.W))
        return W_1 @ W_2

    @property
    def identity(self) -> str:
        """The method and a hash of its weights, its settings and what it stored."""
        method = self.method
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in method.network_.state_dict().items()}
        arrays |= method.arrays()
        settings = {name: value for name, value in method.get_params().items() if name != "device"}
        content = [repr(settings).encode(), repr(method.facts()).encode()]
        content += [arrays[name].tobytes() for name in sorted(arrays)]
        content += [] if self.unknown is None else [self.unknown.tobytes()]
        through = method.name if self.unknown is None else f"{method.name} through trust"
        return f"{through} {hashlib.sha256(b''.join(content)).hexdigest()[:16]}"

    def after(self, graph: Graph) -> "WhiteBox":
        """White-box access to the method once it has recovered on a graph.

        Where trust is attacked, nothing is stored of the unknown nodes during recovery. A method that does not recover,
        or whose answers have no gradient after that, stays as it is.
        """
        if isinstance(self.model, Trusted) or not self.method.capabilities.recovers:
            return self
        known = {} if self.unknown is None else {"known": np.delete(graph.ids, self.unknown)}
        recovered = self.method.recover(graph, **known)
        return self if recovered.opaque() else replace(self, model=recovered)

    def module(self, graph: Graph) -> "ThroughEdges":
        """(x, edge_index, edge_weight) -> logits of the graph's nodes."""
        method = self.method
        accepted = method.accepted(graph)
        if self.unknown is None:
            if isinstance(method, GVDN) and method.way_ == IN_TURN:
                raise InvalidInput(
                    "expected a gvdn with a gradient into links, got one that judges a poisoned graph's nodes in turn, "
                    "which has none; attack a gcn instead, whose flips transfer"
                )
            front = method.front(accepted) if isinstance(method, GVDN) else None
            if front is None:
                return ThroughEdges(method, accepted)
            return (ThroughTrust if method.way_ in JUDGING else ThroughStored)(method, accepted, front)
        if (outside := self.unknown[self.unknown >= accepted.num_nodes]).size:
            there = f"expected positions in {accepted.name} as unknown, 0 to {accepted.num_nodes - 1}"
            raise InvalidInput(f"{there}, got {outside[0]}; find them with graph.locate(ids)")
        if isinstance(self.model, Trusted):
            baseline, guard = self.model.baseline, True
        else:
            assert isinstance(method, GVDN)
            baseline, guard = method.baseline_, method.guard
        left = baseline.only(np.delete(accepted.ids, self.unknown))
        return ThroughTrust(method, accepted, front_of(left.trust(), left.stored(), accepted, guard=guard))


class ThroughEdges(nn.Module):
    """A network on a graph whose edges and edge weights are arguments of each call; gradients flow into the weights.

    The weight of a call multiplies the one that the edge has in the graph.
    """

    def __init__(self, method: Base, graph: Graph) -> None:
        super().__init__()
        self.network, self.factors, self.graph = method.network_, method.link_factors, graph
        self.view, self.answer = method.through(graph)
        self.known: tuple[Tensor, Tensor, WeightedEdges, Tensor] | None = None
        """The last edges, which half is used, their pattern, their weights in the graph: a call may change no edge."""

    def forward(
        self, x: Float[Tensor, "n _"], edge_index: Int64[Tensor, "2 e"], edge_weight: Float[Tensor, " e"]
    ) -> Float[Tensor, "n k"]:
        """Each undirected edge is given in both directions, with the same weight; x gives only the number of nodes."""
        if self.known is None or self.known[0] is not edge_index:
            once = edge_index[0] < edge_index[1]
            pairs = edge_index[:, once].T.cpu().numpy()
            own = torch.from_numpy(self.weights(pairs)).to(x.device)
            self.known = (edge_index, once, WeightedEdges(pairs, len(x), x.device), own)
        _, once, edges, own = self.known
        return self.joined(self.answer(self.view.over(edges, edge_weight[once] * own)), edge_weight[once])

    def weights(self, pairs: Pairs) -> Float32[np.ndarray, " m"]:
        """The weight of each pair in the graph, 1 for one that is not linked there, times the method's own factor."""
        factors = self.factors(self.graph, pairs)
        return factors * self.graph.weights_of(pairs) if self.graph.is_weighted else factors

    def joined(self, logits: Float[Tensor, "n k"], edge_weight: Float[Tensor, " m"]) -> Float[Tensor, "n k"]:
        """The logits that the attack is aimed at, given the network's."""
        return logits


class ThroughStored(ThroughEdges):
    """The same, and the answers of stored nodes are mixed with what is stored of them, as in `Front.with_stored`.

    How far a node has its stored answer is a constant: what it is on the graph.
    """

    def __init__(self, method: Base, graph: Graph, front: Front) -> None:
        super().__init__(method, graph)
        device, weight = next(self.network.parameters()).device, front.weight_of_stored
        mixed = np.flatnonzero(weight > 0)
        stored = front.baseline.answers[front.known[mixed]] * weight[mixed, None]
        self.mixed, self.left = (torch.from_numpy(part).to(device) for part in (mixed, 1 - weight[mixed, None]))
        self.stored = torch.from_numpy(stored).to(device)

    def joined(self, logits: Float[Tensor, "n k"], edge_weight: Float[Tensor, " m"]) -> Float[Tensor, "n k"]:
        probs = self.left * logits[self.mixed].double().softmax(dim=1) + self.stored
        return logits.index_copy(0, self.mixed, probs.clamp(min=TINY).log().to(logits.dtype))


class ThroughTrust(ThroughStored):
    """The same as recovery with trust, or trust in front of a method, sees it: a link counts as far as it is trusted.

    What the trust model says of a link is a constant while its weight changes: of a link of the graph, what it says on
    that graph; of any other pair, what it would say if the pair alone were linked. The answers of nodes of which
    nothing is stored are joined with those of their rows and links, as in `Front.answers`, with links by the first of
    the accounts of `Scene.messages` alone.
    """

    def __init__(self, method: Base, graph: Graph, front: Front) -> None:
        super().__init__(method, graph, front)
        self.front, scene = front, front.judgement.scene
        device = next(self.network.parameters()).device
        self.nodes = torch.from_numpy(front.in_question).to(device)
        answers = self.answer(self.view).detach().double().softmax(dim=1).cpu().numpy()
        said, known = witnesses(front.judgement, answers, front.in_question)
        alpha = front.model.blend.alpha(known)
        self.row, self.alpha = (torch.from_numpy(part.astype(np.float32)).to(device) for part in (said[:, 0], alpha))
        self.fits = torch.from_numpy(scene.fits.astype(np.float32)).to(device)
        self.start = torch.from_numpy(scene.base_vote.astype(np.float32)).to(device)
        self.prior = torch.from_numpy(front.model.learned.prior.astype(np.float32)).to(device)
        self.pairs, self.genuine = torch.empty(0, 2, dtype=torch.int64), torch.empty(0)

    def weights(self, pairs: Pairs) -> Float32[np.ndarray, " m"]:
        judgement, n = self.front.judgement, self.graph.num_nodes
        keys, there = edge_keys(pairs, n), edge_keys(self.graph.edges, n)
        found = np.minimum(np.searchsorted(there, keys), max(len(there) - 1, 0))
        linked = there[found] == keys if len(there) else np.zeros(len(keys), dtype=bool)
        genuine, weight = np.ones(len(pairs)), np.ones(len(pairs))
        genuine[linked], weight[linked] = judgement.genuine[found[linked]], judgement.link_weights[found[linked]]
        genuine[~linked], weight[~linked] = judged_alone(self.front.model, judgement, pairs[~linked])
        device = self.row.device
        self.pairs = torch.from_numpy(pairs).to(device)
        self.genuine = torch.from_numpy(genuine.astype(np.float32)).to(device)
        return super().weights(pairs) * weight.astype(np.float32)

    def joined(self, logits: Float[Tensor, "n k"], edge_weight: Float[Tensor, " m"]) -> Float[Tensor, "n k"]:
        g = (self.genuine * edge_weight)[:, None]
        links = self.start
        for end, other in ((0, 1), (1, 0)):
            said = torch.log(1 - g + g * self.fits[self.pairs[:, other]])
            links = links.index_add(0, self.pairs[:, end], said)
        parts = (links[self.nodes].softmax(dim=1), logits[self.nodes].softmax(dim=1))
        doubtful = [torch.log((1 - ERROR) * part + ERROR * self.prior) for part in parts]
        said = torch.stack([self.row, *doubtful], dim=1)
        joined = super().joined(logits, edge_weight)
        return joined.index_copy(0, self.nodes, (self.alpha[:, :, None] * said).sum(dim=1))
