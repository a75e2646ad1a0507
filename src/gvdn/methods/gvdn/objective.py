"""Algorithm 2: what one iteration of GVDN minimises, in training and in recovery."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.nn.aggregators import Linear
from gvdn.nn.diffusion import Rate, cross_entropy, diffusion_loss, embedding_match, kl_to_standard_normal
from gvdn.nn.dropout import Dropout, normal_like
from gvdn.nn.encoder import Encoder, Fallback, Hidden, Pass
from gvdn.nn.heads import HeadsPass, Match
from gvdn.nn.samplers import Neighbourhood, Sampler, Selection, select_neighbours
from gvdn.training import optimizers
from gvdn.training.loop import Epoch, Labelled
from gvdn.training.selection import on_device, score_of


@dataclass
class Objective:
    """The task that the training loop is given, in plain operations: for any aggregator and for variants of the losses.

    Attributes:
        weights: lambda of each loss (Eq. 12).
        train: the nodes that are trained on and their labels: true ones, or pseudo labels in recovery.
        val: the nodes whose score chooses the epoch, and their labels; without any, the last epoch is taken.
        select: the score that chooses the epoch.
        class_weights: the weight of each class in L_ce; all equal when left out.
        near: the neighbourhoods of the training nodes, for Algorithm 1.
        sampler: of Algorithm 1; None switches it off.
        match: in recovery, the embeddings that were stored (Eq. 11).
        fallback: in recovery, what was stored of the nodes that lost their features or links.
    """

    network: Encoder
    view: Any
    schedule: list[Rate]
    weights: dict[str, float]
    train: Labelled
    near: Neighbourhood
    sampler: Sampler | None
    val: Labelled | None = None
    match: Match | None = None
    dropout: float = 0.0
    fallback: Fallback | None = None
    select: str = "accuracy"
    class_weights: Float[Tensor, " k"] | None = None

    _rate: Float[Tensor, "2"] | None = None
    _hidden: Hidden | None = None
    _selection: Selection | None = None

    @property
    def recordable(self) -> bool:
        """Whether an epoch can be recorded and replayed on a GPU."""
        return False

    def losses(self, epoch: Epoch, generator: Generator) -> dict[str, Tensor]:
        """Lines 2 to 9; each term is already multiplied by its lambda."""
        self._rate, (nodes, labels) = self.rate(epoch), self.train
        logits, others = self.passed(epoch, self._rate, generator)  # lines 2, 4, 5 and 7
        ce = cross_entropy(logits.index_select(0, nodes), labels, self.class_weights)  # line 3
        if self.sampler is not None:  # line 9
            predicted = logits.detach().argmax(dim=1)
            found = select_neighbours(self.near, self.sampler, predicted, labels, logits.shape[1], generator)
            self._selection = _kept(self._selection, found)
        return {name: self.weights[name] * term for name, term in {"ce": ce, **others}.items()}

    def passed(self, epoch: Epoch, rate: Float[Tensor, "2"], generator: Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """The logits, and every loss but L_ce."""
        hidden, eps, Z, H_emb, logits = self.network(
            self.view,
            Rate(*rate),
            noise=lambda H: normal_like(H, generator),
            dropout=Dropout(self.dropout, generator),
            fallback=self.fallback,
            replaced=self.replaced,
        )
        terms = self.regularisers(epoch, hidden, eps, Z)
        if self.match is not None:
            terms["nm"] = embedding_match(*self.match.of(H_emb))
        self._hidden = hidden if self.dropout == 0 else None
        return logits, terms

    def regularisers(
        self, epoch: Epoch, hidden: Hidden, eps: Float[Tensor, "n h"], Z: Float[Tensor, "n h"]
    ) -> dict[str, Tensor]:
        """L_kl and L_df of the Gaussian heads, before their lambdas; a subclass may replace them."""
        return {"kl": kl_to_standard_normal(hidden.q), "df": diffusion_loss(eps, Z)}

    def replaced(self, rows: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """The rows of wrong nodes replaced as the iteration before this one found (Algorithm 1)."""
        if self._selection is None:
            return rows
        found = Selection(*(part.clone() for part in self._selection))  # line 9 comes before the backward pass
        return found.apply(self.near, rows)

    @torch.no_grad()
    def score(self, generator: Generator) -> Float[Tensor, "2"] | None:
        """Validation score of the weights that gave the losses; without dropout their first layer is used again."""
        if self.val is None or not len(self.val[0]) or self._rate is None:
            return None
        nodes, labels = self.val
        return score_of(self.select, self.logits(self._rate).index_select(0, nodes), labels)

    def logits(self, rate: Float[Tensor, "2"]) -> Float[Tensor, "n k"]:
        """What the weights that gave the losses predict, with eps = 0."""
        return self.network(self.view, Rate(*rate), hidden=self._hidden, fallback=self.fallback).logits

    @torch.no_grad()
    def inferred(self, rate: Rate) -> Pass:
        """The forward pass of the weights as they are now, with eps = 0."""
        return self.network(self.view, rate, fallback=self.fallback)

    def rate(self, epoch: Epoch) -> Float[Tensor, "2"]:
        """The rate of an epoch; that of the last one in an update that is longer than the training."""
        last = len(self.schedule) - 1
        if isinstance(epoch, int):
            return self._rates[min(epoch, last)]
        return self._rates.index_select(0, epoch.clamp(max=last).view(1))[0]

    @cached_property
    def _rates(self) -> Float[Tensor, "t 2"]:
        return torch.tensor(self.schedule, dtype=torch.float32, device=self.network.W_z.device)

    def carried(self) -> dict[str, Tensor]:
        return {} if self._selection is None else self._selection._asdict()

    def carry(self, state: dict[str, Tensor]) -> None:
        self._selection = Selection(**state).checked(self.near) if state else None


@dataclass
class LinearObjective(Objective):
    """The same for the aggregators whose layers are S H W, over blocks of rows (`HeadsPass`).

    Algorithm 1 replaces rows after the product with W_out: the mean of rows times W is the mean of their products.
    """

    _heads: HeadsPass = field(init=False)

    def __post_init__(self) -> None:
        self._heads = HeadsPass(self.network, self.view, self.dropout, self.fallback, self.match)

    @property
    def recordable(self) -> bool:
        return on_device(self.select)

    def passed(self, epoch: Epoch, rate: Float[Tensor, "2"], generator: Generator) -> tuple[Tensor, dict[str, Tensor]]:
        Y, kl, df, nm = self._heads(rate, generator)
        terms = {"kl": kl, "df": df} | ({} if self.match is None else {"nm": nm})
        return self._second_layer(self.replaced(Y)), terms

    def logits(self, rate: Float[Tensor, "2"]) -> Float[Tensor, "n k"]:
        return self._second_layer(self._heads.inferred(rate, again=True))

    def _second_layer(self, Y: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Eq. 7, given H_emb W."""
        logits = self.view.propagate(Y)
        return logits if self.fallback is None else torch.lerp(logits, self.fallback.logits, self.fallback.weight)


def objective_of(**parts: Any) -> Objective:
    """The objective of a network: over blocks of rows where its aggregator is linear."""
    return (LinearObjective if isinstance(parts["network"].out, Linear) else Objective)(**parts)


def _kept(old: Selection | None, new: Selection) -> Selection:
    """The new selection, in the tensors of the old one: an epoch that is replayed reads and writes the same ones."""
    if old is None:
        return new
    for before, now in zip(old, new, strict=True):
        before.copy_(now)
    return old


def adam(network: Encoder, learning_rate: float, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """Adam; the weight decay applies to the weights of the aggregators, and not to W_z."""
    others = [parameter for name, parameter in network.named_parameters() if name != "W_z"]
    if not weight_decay:  # one group is one kernel
        return optimizers.adam([*others, network.W_z], network.W_z.device, lr=learning_rate)
    groups: list[dict[str, Any]] = [{"params": others, "weight_decay": weight_decay}, {"params": [network.W_z]}]
    return optimizers.adam(groups, network.W_z.device, lr=learning_rate)
