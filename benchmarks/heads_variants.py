"""GVDN with other treatments of its two Gaussian heads, for `heads.py`; the product's GVDN is the variant `gvdn`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

import gvdn
from gvdn.graph import Graph
from gvdn.methods.gvdn.objective import Objective, adam
from gvdn.nn.diffusion import Rate, undiffused
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.encoder import LOG_SIGMA_MAX, Encoder, Hidden, Pass
from gvdn.nn.sparse import SparseMatrix
from gvdn.nn.view import View, propagation


@dataclass(frozen=True)
class Variant:
    """What differs from GVDN as it is.

    Attributes:
        diffusion: whether mu and log sigma are diffused (Eq. 4); without it their factors are 1.
        weight: of L_kl and of L_df; 0 leaves them out.
        decay: whether the aggregators' weights decay in `fit`.
        floor: free bits (Kingma et al., NeurIPS 2016): a dimension whose KL, averaged over the nodes, is below this
            number has no part in the gradient of L_kl; of L_df twice the number, since L_df is 2 KL in mu.
        warm_up: the share of the epochs of `fit` over which the weight of L_kl and L_df grows from 0 to 1.
        neighbours: the prior of a node is N(m, 1) with m the mean of its neighbours' mu (no gradient), and not N(0, 1);
            L_df is centred on m likewise.
        gate: what every entry of W_z is before the first epoch, and for a node of which nothing is stored; None draws
            it around 0, and leaves 0 for such nodes, as the product does.
        noise: the factor of eps in training.
        own: mu and sigma are computed from a node's own features, without its links.
        predict: mu and sigma predict H from the node's own features: L_kl is -log N(H; mu, sigma^2), L_df the cross
            entropy of mu W_out with the answers of H, both without gradient into H and W_out. With `stand_in`, where
            nothing is stored of a node, mu W_out replaces its answer as far as H is farther from mu than usual, with
            the weight 1 - usual / distance.
        stand_in: the mu of a node of which nothing is stored is the mean of the mu of its neighbours that are stored.
    """

    diffusion: bool = True
    weight: float = 1.0
    decay: bool = True
    floor: float = 0.0
    warm_up: float = 0.0
    neighbours: bool = False
    gate: float | None = None
    noise: float = 1.0
    own: bool = False
    predict: bool = False
    stand_in: bool = False


SMALL_NOISE = Variant(diffusion=False, gate=0.5, noise=0.05)
"""Half of every H_emb is Z, and the noise is about as large as H; sigma = exp(ReLU(.)) is at least 1, 20 times H."""
VARIANTS = {
    "gvdn": Variant(),
    "no terms": Variant(weight=0.0),
    "free bits": Variant(floor=0.01),
    "undiffused": Variant(diffusion=False),
    "undiffused, no terms": Variant(diffusion=False, weight=0.0),
    "undiffused, no terms, no decay": Variant(diffusion=False, weight=0.0, decay=False),
    "undiffused, no decay": Variant(diffusion=False, decay=False),
    "undiffused, free bits": Variant(diffusion=False, floor=0.01),
    "undiffused, annealed": Variant(diffusion=False, warm_up=1.0),
    "undiffused, prior of neighbours": Variant(diffusion=False, neighbours=True),
    "gate, free bits": Variant(diffusion=False, gate=0.5, floor=0.01),
    "small noise": SMALL_NOISE,
    "small noise, no terms": replace(SMALL_NOISE, weight=0.0),
    "small noise, free bits": replace(SMALL_NOISE, floor=0.01),
    "small noise, annealed": replace(SMALL_NOISE, warm_up=1.0),
    "small noise, prior of neighbours": replace(SMALL_NOISE, neighbours=True),
    "small noise, free bits, stand-in": replace(SMALL_NOISE, floor=0.01, stand_in=True),
    "own rows, free bits": replace(SMALL_NOISE, floor=0.01, own=True),
    "own rows, prior of neighbours": replace(SMALL_NOISE, neighbours=True, own=True),
    "own rows, free bits, stand-in": replace(SMALL_NOISE, floor=0.01, own=True, stand_in=True),
    "predicted H": Variant(diffusion=False, gate=0.0, own=True, predict=True),
    "predicted H, stand-in": Variant(diffusion=False, gate=0.0, own=True, predict=True, stand_in=True),
}
"""Variants from the fourth on are undiffused: Eq. 4 multiplies mu by a factor that falls towards 0 with the epochs."""
USUAL = 0.5
"""The quantile of the distances of clean nodes that is taken as usual."""


class HeadsView(View):
    """A view that also has the mean over neighbours and, for a stand-in, the nodes of which nothing is stored.

    `known_neighbours` is the mean over the neighbours that are stored.
    """

    neighbours: SparseMatrix
    known_neighbours: SparseMatrix
    absent: Tensor | None = None


class HeadsEncoder(Encoder):
    """The forward pass with the heads of a variant; `scale` and `usual` serve `predict`.

    `scale` is the standard deviation of each dimension of H, `usual` the distance up to which H is not doubted.
    """

    def __init__(self, variant: Variant, *sizes: Any, **generators: torch.Generator | None) -> None:
        super().__init__(*sizes, **generators)
        self.variant = variant
        self.register_buffer("scale", torch.ones(self.hidden))
        self.register_buffer("usual", torch.ones(()))
        if variant.gate is not None:
            torch.nn.init.constant_(self.W_z, variant.gate)

    def forward(self, view: Any, rate: Rate, W_z: Tensor | None = None, **rest: Any) -> Pass:
        noise, factor = rest.pop("noise", None), self.variant.noise
        eps = None if noise is None else lambda H: factor * noise(H)
        made = super().forward(view, rate, W_z, noise=eps, **rest)
        if not self.variant.predict or view.absent is None:
            return made
        doubt = 1 - 1 / (distance(made.hidden) / self.usual).clamp(min=1.0)
        weight = torch.where(view.absent, doubt, 0.0).detach()
        return made._replace(logits=torch.lerp(made.logits, made.hidden.mu @ self.out.W, weight))

    def first_layer(self, view: Any, dropout: Dropout = NO_DROPOUT, *, spread: bool = True) -> Hidden:
        spread = spread or self.variant.predict
        hidden = (
            self.own_heads(view, dropout, spread)
            if self.variant.own
            else super().first_layer(view, dropout, spread=spread)
        )
        if view.absent is None or self.variant.predict:
            return hidden
        return hidden._replace(mu=torch.where(view.absent, view.known_neighbours @ hidden.mu, hidden.mu))

    def own_heads(self, view: Any, dropout: Dropout, spread: bool) -> Hidden:
        """H from the links as ever, mu and log sigma from a node's own features."""
        W = self.heads.W[:, : None if spread else 2 * self.hidden]
        H, mu, *rest = view.project(W, dropout).split(self.hidden, dim=1)
        H, mu = F.relu(view.propagate(H)), F.relu(mu)
        if not spread:
            return Hidden(H, mu, None)
        log_sigma = rest[0] + self.scale.log() if self.variant.predict else F.relu(rest[0])
        return Hidden(H, mu, log_sigma.clamp(max=LOG_SIGMA_MAX))


def distance(hidden: Hidden) -> Tensor:
    """|H - mu|^2 / |sigma|^2 of each node."""
    mu, log_sigma = hidden.q
    return ((hidden.H - mu) ** 2).sum(dim=1, keepdim=True) / torch.exp(2 * log_sigma).sum(dim=1, keepdim=True)


@dataclass
class HeadsObjective(Objective):
    """The objective of a variant; every `every` epochs it writes into `trace` what the heads carry."""

    variant: Variant = Variant()
    trace: list[dict[str, float]] | None = None
    every: int = 10

    def losses(self, epoch: int, generator: torch.Generator) -> dict[str, Tensor]:
        if self.trace is not None and (epoch % self.every == 0 or epoch == len(self.schedule) - 1):
            self.trace.append(self.carried_by_heads(epoch))
        return super().losses(epoch, generator)

    def regularisers(self, epoch: int, hidden: Hidden, eps: Tensor, Z: Tensor) -> dict[str, Tensor]:
        variant = self.variant
        if variant.predict:
            teaching = self.teaching(len(hidden.H), hidden.H.device)
            return {"kl": self.surprise(hidden, teaching), "df": self.taught(hidden, teaching)}
        if variant.neighbours or variant.floor:
            terms = self.floored(epoch, hidden, eps, Z)
        else:
            terms = super().regularisers(epoch, hidden, eps, Z)
        weight = variant.weight
        if variant.warm_up and self.match is None:  # in recovery the weight is full
            weight *= min(1.0, epoch / (variant.warm_up * len(self.schedule)))
        return {name: weight * term for name, term in terms.items()}

    def teaching(self, number: int, device: torch.device) -> Tensor:
        """The nodes that teach the heads: in `fit` all but the validation nodes, in recovery those that are stored.

        The victims are validation nodes: heads that were taught with their clean H would give it back.
        """
        if self.match is not None:
            return torch.zeros(number, dtype=torch.bool, device=device).index_fill(0, self.match[0], True)
        assert self.val is not None
        return torch.ones(number, dtype=torch.bool, device=device).index_fill(0, self.val[0], False)

    def surprise(self, hidden: Hidden, teaching: Tensor) -> Tensor:
        """-log N(H; mu, sigma^2) without its constant, averaged over the nodes that teach and the dimensions.

        The validation nodes, which do not teach, say what distance is usual on the clean graph.
        """
        network, H, (mu, log_sigma) = self.network, hidden.H.detach(), hidden.q
        if self.val is not None:
            with torch.no_grad():
                network.usual.copy_(distance(network.first_layer(self.view))[self.val[0]].quantile(USUAL))
        network.scale.copy_(H.std(dim=0).clamp(min=1e-4))
        surprise = 0.5 * ((H - mu) / log_sigma.exp()) ** 2 + log_sigma - network.scale.log()
        return surprise[teaching].mean()

    def taught(self, hidden: Hidden, teaching: Tensor) -> Tensor:
        """The cross entropy of mu W_out, the answer of a node's own features, with the answer of H and the links."""
        with torch.no_grad():
            answers = self.network.second_layer(self.view, hidden.H).softmax(dim=1)
        own = hidden.mu @ self.network.out.W.detach()
        return F.cross_entropy(own[teaching], answers[teaching])

    def floored(self, epoch: int, hidden: Hidden, eps: Tensor, Z: Tensor) -> dict[str, Tensor]:
        """L_kl and L_df with the variant's prior, and with each dimension counted only above its floor."""
        mu, log_sigma = hidden.q
        if self.variant.neighbours:
            m = self.view.neighbours @ mu.detach()
            mu, Z = mu - m, Z - self.rate(epoch)[0] * m
        kl = 0.5 * (mu**2 + torch.exp(2 * log_sigma) - 1 - 2 * log_sigma).mean(dim=0)
        df = ((eps - Z) ** 2).mean(dim=0)
        return {"kl": kl.clamp(min=self.variant.floor).mean(), "df": df.clamp(min=2 * self.variant.floor).mean()}

    @torch.no_grad()
    def carried_by_heads(self, epoch: int) -> dict[str, float]:
        rate = self.rate(epoch)
        found = carried(self.network, self.view, float(rate[0]), self.network.W_z)
        if self.val is not None:
            nodes, labels = self.val
            right = self.inferred(Rate(*rate)).logits[nodes].argmax(dim=1) == labels
            found["val"] = float(right.float().mean())
        return {"epoch": epoch} | found


@dataclass
class HeadsGVDN(gvdn.GVDN):
    """GVDN in one of the variants; `trace_` has what the heads carry in the epochs of the fit."""

    variant: str = "gvdn"

    @property
    def kind(self) -> Variant:
        return VARIANTS[self.variant]

    def build(
        self,
        features: int,
        classes: int,
        generator: torch.Generator | None,
        of_nodes: torch.Generator | None = None,
    ) -> Encoder:
        sizes = (features, self.hidden, classes, len(self.ids_), self.aggregator)
        return HeadsEncoder(self.kind, *sizes, generator=generator, of_nodes=of_nodes)

    def objective(self, **parts: Any) -> Objective:
        trace: list[dict[str, float]] | None = None
        if parts.get("match") is None:  # recovery calls this of the model that stays as it was
            self.trace_ = trace = []
        return HeadsObjective(**parts, variant=self.kind, trace=trace)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return adam(network, self.learning_rate, self.weight_decay if self.kind.decay else 0.0)

    def schedule(self, epochs: int) -> list[Rate]:
        return super().schedule(epochs) if self.kind.diffusion else undiffused(epochs)

    def blank_row(self) -> Tensor:
        row = super().blank_row()
        return row if self.kind.gate is None else row.fill_(self.kind.gate)

    def carried(self, graph: Graph) -> dict[str, float]:
        """What the heads of the fitted model carry on a graph."""
        graph = self.seen(graph)
        return carried(self.network_, self.view(graph), self.rate_.mean, self.W_z(graph))

    @torch.no_grad()
    def distances(self, graph: Graph) -> np.ndarray:
        """How far H of each node is from what its own features predict; of a variant that predicts it."""
        return distance(self.network_.first_layer(self.view(graph)))[:, 0].cpu().numpy()

    @torch.no_grad()
    def own_answers(self, graph: Graph) -> np.ndarray:
        """The class that mu W_out gives each node, without any link; of a variant whose heads see own features."""
        graph = self.seen(graph)
        hidden = self.network_.first_layer(self.view(graph), spread=False)
        return (hidden.mu @ self.network_.out.W).argmax(dim=1).cpu().numpy()

    def view(self, graph: Graph) -> HeadsView:
        assert self.aggregator == "gcn", f"expected the aggregator gcn, got {self.aggregator}"
        device = self.torch_device()
        view = HeadsView(propagation(graph, "gcn", device), graph, device, changing=self.kind.own)
        view.neighbours = SparseMatrix(mean_of_neighbours(graph.adjacency), device)
        if self.kind.stand_in and "memory_" in vars(self):
            known = self.memory_.rows(graph) >= 0
            view.absent = torch.from_numpy(~known)[:, None].to(device)
            only = sp.csr_array(graph.adjacency @ sp.diags_array(known.astype(np.float32)))
            view.known_neighbours = SparseMatrix(mean_of_neighbours(only), device)
        return view


@torch.no_grad()
def carried(network: Encoder, view: HeadsView, rate: float, W_z: Tensor) -> dict[str, float]:
    """Means of mu, of H (both are at least 0) and of sigma - 1, KL to N(0, I) per node, and the share of Z in H_emb.

    The share is |W_z Z| / (|W_z Z| + |(1 - W_z) H|) of Frobenius norms, with eps = 0.
    """
    H, mu, log_sigma = network.first_layer(view)
    assert log_sigma is not None
    sigma = log_sigma.exp()
    kl = 0.5 * (mu**2 + sigma**2 - 1 - 2 * log_sigma).sum(dim=1).mean()
    of_Z, of_H = (W_z * rate * mu).norm(), ((1 - W_z) * H).norm()
    found = {"kl": kl, "mu": mu.mean(), "H": H.mean(), "sigma_minus_1": (sigma - 1).mean()}
    found["rate"] = mu.new_tensor(rate)
    found |= {"share_of_Z": of_Z / (of_Z + of_H).clamp(min=1e-30), "W_z": W_z.mean(), "abs_W_z": W_z.abs().mean()}
    return dict(zip(found, torch.stack(list(found.values())).tolist(), strict=True))


def mean_of_neighbours(adjacency: sp.csr_array) -> sp.csr_array:
    """The matrix whose product is the weighted mean over the neighbours of a node; zeros for a node without any."""
    strengths = np.asarray(adjacency.sum(axis=1)).ravel()
    inverse = np.divide(1.0, strengths, out=np.zeros(len(strengths)), where=strengths > 0)
    return sp.csr_array(sp.diags_array(inverse.astype(np.float32)) @ adjacency)
