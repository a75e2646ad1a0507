"""Algorithm 2: what one iteration of GVDN minimises, in training and in retraining."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gvdn.nn.encoder import Encoder, Hidden
from gvdn.nn.losses import cross_entropy, diffusion_loss, embedding_match, kl_to_standard_normal
from gvdn.nn.samplers import Neighbourhood, Replacement, Sampler, select_neighbours
from gvdn.nn.schedule import Rate


@dataclass(frozen=True)
class Weights:
    """lambda of each loss (Eq. 12 of the paper's objective)."""

    ce: float = 1.0
    kl: float = 1.0
    df: float = 1.0
    nm: float = 1.0


@dataclass(frozen=True)
class Lean:
    """How far each node leans on what was stored of it (0 to 1): its embedding, and its answer on the clean graph."""

    weight: Float[Tensor, "n 1"]
    stored: Float[Tensor, "n h"]
    answers: Float[Tensor, "n k"]

    def embedding(self, H_emb: Float[Tensor, "n h"]) -> Float[Tensor, "n h"]:
        return torch.lerp(H_emb, self.stored, self.weight)

    def answer(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        return torch.lerp(logits, self.answers, self.weight)


@dataclass
class Objective:
    """The task of the training loop: nodes with the labels they are trained on, true ones or pseudo ones.

    Attributes:
        nodes, labels: who is trained on, with what.
        near: their neighbourhoods, for Algorithm 1; None mutes the sampler.
        match: in retraining, nodes and the clean embeddings they are to keep.
        val: who chooses the epoch, with their labels; None keeps the last.
        lean: in retraining, the nodes whose own evidence is gone.
    """

    network: Encoder
    view: Any
    schedule: list[Rate]
    weights: Weights
    nodes: Int64[Tensor, " k"]
    labels: Int64[Tensor, " k"]
    classes: int
    sampler: Sampler | None = None
    near: Neighbourhood | None = None
    match: tuple[Int64[Tensor, " m"], Float[Tensor, "m h"]] | None = None
    val: tuple[Int64[Tensor, " v"], Int64[Tensor, " v"]] | None = None
    dropout: float = 0.0
    lean: Lean | None = None

    _rate: Rate | None = None
    _hidden: Hidden | None = None
    _replacement: Replacement | None = None

    def losses(self, epoch: int) -> dict[str, Tensor]:
        """Lines 2 to 9; the terms come already weighted."""
        net, rate = self.network, self.schedule[epoch]
        hidden = net.first_layer(self.view, self.dropout)
        eps = torch.randn_like(hidden.H)
        Z = hidden.q.diffuse(rate).sample(eps)
        H_emb = net.mix(hidden.H, Z, net.W_z)
        if self.lean is not None:
            H_emb = self.lean.embedding(H_emb)
        logits = net.second_layer(self.view, H_emb, dropout=self.dropout, replacement=self._replacement)  # line 2
        if self.lean is not None:
            logits = self.lean.answer(logits)
        terms = {
            "ce": self.weights.ce * cross_entropy(logits[self.nodes], self.labels),  # line 3
            "kl": self.weights.kl * kl_to_standard_normal(hidden.q),  # line 4
            "df": self.weights.df * diffusion_loss(eps, Z),  # line 5
        }
        if self.match is not None:  # lines 6 and 7
            known, stored = self.match
            terms["nm"] = self.weights.nm * embedding_match(stored, H_emb[known])
        if self.sampler is not None and self.near is not None:  # line 9
            predicted = logits.detach().argmax(dim=1)
            self._replacement = select_neighbours(self.near, self.sampler, predicted, self.labels, self.classes)
        self._rate, self._hidden = rate, hidden if self.dropout == 0 else None
        return terms

    def carried(self) -> dict[str, Tensor]:
        return {} if self._replacement is None else self._replacement._asdict()

    def carry(self, state: dict[str, Tensor]) -> None:
        self._replacement = Replacement(**state) if state else None

    @torch.no_grad()
    def inferred(self, rate: Rate) -> tuple[Float[Tensor, "n h"], Float[Tensor, "n k"]]:
        """H_emb and logits of the weights as they are now, with eps = 0."""
        H_emb = self.network.embed(self.view, rate, self.network.W_z)
        if self.lean is None:
            return H_emb, self.network.second_layer(self.view, H_emb)
        H_emb = self.lean.embedding(H_emb)
        return H_emb, self.lean.answer(self.network.second_layer(self.view, H_emb))

    @torch.no_grad()
    def score(self) -> float | None:
        """Validation accuracy of the weights that made the losses; without dropout their first layer is used again."""
        if self.val is None or self._rate is None:
            return None
        nodes, labels = self.val
        if self._hidden is None:
            H_emb = self.network.embed(self.view, self._rate, self.network.W_z)
        else:
            H_emb = self.network.mix(self._hidden.H, self._rate.mean * self._hidden.q.mu, self.network.W_z)
        logits = self.network.second_layer(self.view, H_emb)
        return float((logits[nodes].argmax(dim=1) == labels).float().mean())
