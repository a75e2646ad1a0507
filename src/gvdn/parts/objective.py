"""Algorithm 2 on parts: one epoch of the worker that owns some of them.

The first layer needs no other part, since S X was formed once. The second multiplies by W first, so that a part needs
K numbers of each node of its halo, once forward and once backward. A row that Algorithm 1 replaces by the mean of
neighbours' rows is replaced after the product with W, which is linear: no row of width h is ever exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gvdn.nn.diffusion import Rate, cross_entropy, diffusion_loss, embedding_match, kl_to_standard_normal
from gvdn.nn.dropout import Dropout, normal_like
from gvdn.nn.encoder import Embedding
from gvdn.nn.samplers import Replacement, Sampler, select_neighbours
from gvdn.parts.exchange import Routes
from gvdn.parts.group import exact_sum
from gvdn.parts.site import Site
from gvdn.seeds import torch_generator
from gvdn.training.selection import Score, auc

TERMS = ("ce", "kl", "df", "nm")
"""The losses, in the order of their sums."""

Rows = dict[int, Tensor]
Undo = Callable[[Rows], Rows]
"""A matrix for each part of this worker."""


@dataclass
class Totals:
    """Over all parts: nodes, the weight of training nodes in L_ce, nodes with a stored embedding, validation nodes."""

    nodes: int
    train: float
    known: int
    val: int


@dataclass
class PartsObjective:
    """What the parts of one worker contribute to an epoch.

    Attributes:
        sites: the parts of this worker.
        shared: heads.W and out.W, which all networks of all parts share.
        weights: lambda of each loss.
        hops: how often S is applied in the second layer.
        recompute: whether the first layer is computed again for the backward pass, instead of being kept for all parts
            at once: less memory, more time, the same numbers.
    """

    sites: list[Site]
    routes: Routes
    shared: dict[str, Tensor]
    schedule: list[Rate]
    weights: dict[str, float]
    totals: Totals
    sampler: Sampler | None
    classes: int
    seed: int
    purpose: str
    device: torch.device
    dropout: float = 0.0
    select: str = "accuracy"
    class_weights: Tensor | None = None
    hops: int = 1
    recompute: bool = False

    _kept: dict[int, tuple[Embedding, Tensor]] = field(default_factory=dict)
    _gradient: Rows = field(default_factory=dict)
    _rate: Rate | None = None
    _epoch: int = 0

    # ---- one epoch, in the order of its steps

    def forward(self, epoch: int) -> dict[int, Tensor]:
        """Lines 2 and 3, and the gradient of L_ce back to the product with W; returns L_ce of each part here."""
        self._epoch, self._rate, self._kept = epoch, self.schedule[epoch], {}
        before = {}
        for site in self.sites:
            with torch.set_grad_enabled(not self.recompute):
                made, Y = self.first_half(site)
            before[site.number] = Y.detach()
            if not self.recompute:
                self._kept[site.number] = (made, Y)
        replaced, undo = self._replaced(before)
        del before
        out = self.propagate(replaced)
        del replaced
        losses, slopes, predicted = {}, {}, {}
        for site in self.sites:
            n = site.number
            losses[n], slopes[n], predicted[n] = self._cross_entropy(site, out.pop(n))
        self._gradient = undo(self.propagate(slopes, backward=True))
        self._select(predicted)
        return losses

    def first_half(self, site: Site) -> tuple[Embedding, Tensor]:
        """Eq. 3 to 6 and H_emb W, with the random numbers of this epoch and part: the same at every call."""
        assert self._rate is not None
        generator = self.generator(site)
        dropout = Dropout(self.dropout, generator)
        network = site.weights
        made = network.embedding(
            site.view,
            self._rate,
            noise=lambda H: normal_like(H, generator),
            dropout=dropout,
            fallback=site.fallback,
        )
        return made, dropout(made.H_emb) @ network.out.W

    def backward(self, site: Site) -> tuple[Tensor, dict[str, Tensor]]:
        """Lines 4 to 8 for one part: the other losses, in the order of `TERMS`, and the gradients of shared weights.

        The gradient of the part's own W_z is left in it.
        """
        made, Y = self._kept.pop(site.number) if not self.recompute else self.first_half(site)
        network, share = site.weights, site.nodes / self.totals.nodes
        terms = {
            "kl": share * kl_to_standard_normal(made.hidden.q),
            "df": share * diffusion_loss(made.eps, made.Z),  # type: ignore[arg-type]
        }
        if site.match is not None and len(site.match[0]):
            known, stored = site.match
            terms["nm"] = len(known) / self.totals.known * embedding_match(stored, made.H_emb[known])
        weighed = {name: self.weights[name] * term for name, term in terms.items()}
        torch.autograd.backward([Y, torch.stack(list(weighed.values())).sum()], [self._gradient.pop(site.number), None])
        zero = torch.zeros((), device=self.device)
        values = torch.stack([weighed.get(name, zero).detach() for name in TERMS[1:]]).double()
        found = {}
        for name, parameter in (("heads.W", network.heads.W), ("out.W", network.out.W)):
            found[name], parameter.grad = parameter.grad, None
        return values, found

    def generator(self, site: Site, *more: str) -> torch.Generator:
        """The generator of a part in this epoch; it does not matter who owns the part."""
        words = (self.purpose, str(self._epoch), f"part {site.number}", *more)
        return torch_generator(self.seed, *words, device=self.device)

    # ---- the second layer

    @torch.no_grad()
    def propagate(self, rows: Rows, *, backward: bool = False) -> Rows:
        """S Y, or its transpose: one exchange for each hop."""
        for _ in range(self.hops):
            halos = self.routes.gather(rows)
            rows = {
                site.number: (site.backward if backward else site.forward)
                @ torch.cat([rows[site.number], halos[site.number]])
                for site in self.sites
            }
        return rows

    def _cross_entropy(self, site: Site, out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """L_ce of a part, its gradient with respect to the second layer, and the predicted classes."""
        assert site.train is not None
        nodes, labels = site.train
        leaf = out.detach().requires_grad_()
        logits = leaf
        if site.fallback is not None:
            logits = torch.lerp(leaf, site.fallback.logits, site.fallback.weight)
        predicted = logits.detach().argmax(dim=1)
        if not len(nodes):
            return torch.zeros((), device=self.device), torch.zeros_like(out), predicted
        weight = len(labels) if self.class_weights is None else float(self.class_weights[labels].sum())
        share = self.weights["ce"] * weight / self.totals.train if self.totals.train else 0.0
        loss = share * cross_entropy(logits[nodes], labels, self.class_weights)
        return loss.detach(), torch.autograd.grad(loss, leaf)[0], predicted

    # ---- Algorithm 1

    @torch.no_grad()
    def _select(self, predicted: Rows) -> None:
        """Line 9: what the next epoch replaces; one exchange of the predicted classes of the halos."""
        if self.sampler is None:
            return
        kind = torch.uint8 if self.classes <= 256 else torch.int32
        halos = self.routes.gather({number: classes[:, None].to(kind) for number, classes in predicted.items()})
        for site in self.sites:
            assert site.near is not None
            assert site.train is not None
            every = torch.cat([predicted[site.number], halos[site.number][:, 0].long()])
            generator = self.generator(site, "sampler")
            found = select_neighbours(site.near, self.sampler, every, site.train[1], self.classes, generator)
            site.replacement = Replacement.of(site.near, found)

    def _replaced(self, rows: Rows) -> tuple[Rows, Undo]:
        """The rows of wrong nodes replaced by the mean of their selected neighbours', and the way back of gradients."""
        if all(site.replacement is None for site in self.sites):
            return rows, lambda gradients: gradients
        chosen = {site.number: _selected(site) for site in self.sites}
        routes = self.routes.narrowed({number: halo for number, (halo, _) in chosen.items()})
        halos = routes.gather(rows)
        leaves, replaced = {}, {}
        for site in self.sites:
            leaves[site.number] = torch.cat([rows[site.number], halos[site.number]]).requires_grad_()
            with torch.enable_grad():
                replaced[site.number] = chosen[site.number][1].apply(leaves[site.number])[: site.nodes]

        def undo(gradients: Rows) -> Rows:
            own, others = {}, {}
            for site in self.sites:
                n = site.number
                found = torch.autograd.grad(replaced[n], leaves[n], gradients[n])[0]
                own[n], others[n] = found[: site.nodes].clone(), found[site.nodes :]
            routes.give_back(others, own)
            return own

        return {number: one.detach() for number, one in replaced.items()}, undo

    # ---- the score of the same weights

    @torch.no_grad()
    def score(self) -> Score | None:
        """The score of the weights as they are on the validation nodes of all parts, with eps = 0."""
        if not self.totals.val or self._rate is None:
            return None
        out, counted = self.inferred(self._rate, embeddings=False)[1], []
        for site in self.sites:
            assert site.val is not None
            nodes, labels = site.val
            logits = out[site.number][nodes]
            named = logits.argmax(dim=1)
            right = torch.bincount(labels[named == labels], minlength=self.classes)
            loss = cross_entropy(logits, labels) * len(labels) if len(labels) else torch.zeros((), device=self.device)
            counts = [torch.bincount(one, minlength=self.classes) for one in (labels, named)]
            counted.append(torch.cat([right, *counts, loss.reshape(1)]).double())
        found = exact_sum(self.routes.group, counted).cpu()
        right, true, named, loss = found.split([self.classes, self.classes, self.classes, 1])
        mean = float(loss) / self.totals.val
        if self.select == "loss":
            return Score(-mean, -mean)
        if self.select == "auc":
            return Score(self._auc(out), -mean)
        if self.select == "macro-f1":
            either = true + named
            return Score(float((2 * right / either)[either > 0].mean()), -mean)
        return Score(float(right.sum()) / self.totals.val, -mean)

    def _auc(self, out: Rows) -> float:
        """The area under the ROC curve, which ranks the validation nodes of all parts: every worker gets them all."""
        rows = {}
        for site in self.sites:
            assert site.val is not None
            nodes, labels = site.val
            rows[site.number] = torch.cat([out[site.number][nodes], labels[:, None].to(out[site.number].dtype)], dim=1)
        every = self.routes.everywhere(rows)
        return auc(every[:, :-1], every[:, -1].long())

    @torch.no_grad()
    def inferred(self, rate: Rate, *, embeddings: bool = True, draw: int | None = None) -> tuple[Rows, Rows]:
        """H_emb, where asked for, and logits of every node here, with eps = 0, or with the noise of a draw."""
        embedded, rows = {}, {}
        for site in self.sites:
            kept = self._kept.get(site.number) if self.dropout == 0 else None
            hidden = None if kept is None else kept[0].hidden
            made = site.weights.embedding(
                site.view, rate, noise=self._noise(site, draw), hidden=hidden, fallback=site.fallback
            )
            if embeddings:
                embedded[site.number] = made.H_emb
            rows[site.number] = made.H_emb @ site.weights.out.W
        out = self.propagate(rows)
        for site in self.sites:
            if site.fallback is not None:
                out[site.number] = torch.lerp(out[site.number], site.fallback.logits, site.fallback.weight)
        return embedded, out

    def _noise(self, site: Site, draw: int | None) -> Callable[[Tensor], Tensor] | None:
        """The noise of a part in a draw, by the part's own generator."""
        if draw is None:
            return None
        generator = self.generator(site, f"draw {draw}")
        return lambda H: normal_like(H, generator)


def _selected(site: Site) -> tuple[Tensor, Replacement]:
    """The positions in the halo that a part's replacement needs, and the replacement in positions of own nodes and
    those."""
    assert site.replacement is not None
    rows, segment, neighbour, weight = site.replacement
    outside = neighbour >= site.nodes
    halo, which = (neighbour[outside] - site.nodes).unique(return_inverse=True)
    renamed = neighbour.clone()
    renamed[outside] = site.nodes + which
    return halo, Replacement(rows, segment, renamed, weight)
