"""Algorithm 2: what one iteration of GVDN minimises, in training and in recovery."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.nn.diffusion import Rate, cross_entropy, diffusion_loss, embedding_match, kl_to_standard_normal
from gvdn.nn.dropout import Dropout, normal_like
from gvdn.nn.encoder import Encoder, Fallback, Hidden, Pass
from gvdn.nn.samplers import Neighbourhood, Replacement, Sampler, select_neighbours
from gvdn.training.loop import Labelled
from gvdn.training.selection import Score, score_of


@dataclass
class Objective:
    """The task that the training loop is given.

    Attributes:
        weights: lambda of each loss (Eq. 12).
        train: the nodes that are trained on and their labels: true ones, or pseudo labels in recovery.
        val: the nodes whose score chooses the epoch, and their labels; without any, the last epoch is taken.
        select: the score that chooses the epoch.
        class_weights: the weight of each class in L_ce; all equal when left out.
        near: the neighbourhoods of the training nodes, for Algorithm 1.
        sampler: of Algorithm 1; None switches it off.
        match: in recovery, nodes and the embeddings that were stored for them (Eq. 11).
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
    match: tuple[Tensor, Float[Tensor, "m h"]] | None = None
    dropout: float = 0.0
    fallback: Fallback | None = None
    select: str = "accuracy"
    class_weights: Float[Tensor, " k"] | None = None

    _rate: Rate | None = None
    _hidden: Hidden | None = None
    _replacement: Replacement | None = None

    def losses(self, epoch: int, generator: Generator) -> dict[str, Tensor]:
        """Lines 2 to 9; each term is already multiplied by its lambda."""
        rate, (nodes, labels) = self.rate(epoch), self.train
        hidden, eps, Z, H_emb, logits = self.network(  # line 2
            self.view,
            rate,
            noise=lambda H: normal_like(H, generator),
            dropout=Dropout(self.dropout, generator),
            fallback=self.fallback,
            replacement=self._replacement,
        )
        terms = {
            "ce": cross_entropy(logits[nodes], labels, self.class_weights),  # line 3
            **self.regularisers(epoch, hidden, eps, Z),  # lines 4 and 5
        }
        if self.match is not None:  # lines 6 and 7
            known, stored = self.match
            terms["nm"] = embedding_match(stored, H_emb[known])
        if self.sampler is not None:  # line 9
            predicted = logits.detach().argmax(dim=1)
            self._replacement = select_neighbours(
                self.near, self.sampler, predicted, labels, logits.shape[1], generator
            )
        self._rate, self._hidden = rate, hidden if self.dropout == 0 else None
        return {name: self.weights[name] * term for name, term in terms.items()}

    def regularisers(
        self, epoch: int, hidden: Hidden, eps: Float[Tensor, "n h"], Z: Float[Tensor, "n h"]
    ) -> dict[str, Tensor]:
        """L_kl and L_df of the Gaussian heads, before their lambdas; a subclass may replace them."""
        return {"kl": kl_to_standard_normal(hidden.q), "df": diffusion_loss(eps, Z)}

    @torch.no_grad()
    def score(self, generator: Generator) -> Score | None:
        """Validation score of the weights that gave the losses; without dropout their first layer is used again."""
        rate = self._rate
        if self.val is None or not len(self.val[0]) or rate is None:
            return None
        nodes, labels = self.val
        return score_of(self.select, self.inferred(rate, self._hidden).logits[nodes], labels)

    @torch.no_grad()
    def inferred(self, rate: Rate, hidden: Hidden | None = None) -> Pass:
        """The forward pass of the weights as they are now, with eps = 0."""
        return self.network(self.view, rate, hidden=hidden, fallback=self.fallback)

    def rate(self, epoch: int) -> Rate:
        """The rate of an epoch; that of the last one in an update that is longer than the training."""
        return self.schedule[min(epoch, len(self.schedule) - 1)]

    def carried(self) -> dict[str, Tensor]:
        return {} if self._replacement is None else self._replacement._asdict()

    def carry(self, state: dict[str, Tensor]) -> None:
        self._replacement = Replacement(**state).checked(len(self.network.W_z)) if state else None


def adam(network: Encoder, learning_rate: float, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """Adam; the weight decay applies to the weights of the aggregators, and not to W_z."""
    others = [parameter for name, parameter in network.named_parameters() if name != "W_z"]
    groups: list[dict[str, Any]] = [{"params": others, "weight_decay": weight_decay}, {"params": [network.W_z]}]
    return torch.optim.Adam(groups, lr=learning_rate, fused=True)
