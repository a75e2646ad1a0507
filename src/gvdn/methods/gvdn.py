"""GVDN: train on the clean graph, keep the embeddings, recover on the perturbed one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.graph.graph import find_ids
from gvdn.methods import recovery
from gvdn.methods.checks import require_settings, require_trainable
from gvdn.methods.contract import Capabilities
from gvdn.methods.fitted import Fitted, probabilities
from gvdn.methods.memory import Memory, feature_mass, gather_rows, guarded, longest_row, row_lengths
from gvdn.methods.objective import Lean, Objective, Weights
from gvdn.methods.presets import PAPER
from gvdn.methods.uncertainty import Uncertainty, split_entropy
from gvdn.nn.aggregators import AGGREGATORS, AttentionView, view_of
from gvdn.nn.encoder import Encoder
from gvdn.nn.samplers import SAMPLERS, Neighbourhood
from gvdn.nn.schedule import GAMMA_MAX, Rate, diffused, undiffused
from gvdn.nn.view import View
from gvdn.nn.weighted import WeightedView
from gvdn.registry import did_you_mean
from gvdn.seeds import borrow, torch_generator
from gvdn.training.loop import Callback, train


@dataclass
class GVDN(Fitted):
    """Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024), with its recovery (Algorithms 1 to 3).

    `fit` minimises L_ce + L_kl + L_df on the clean graph and keeps the embedding H_emb of every node. `recover` meets
    the perturbed graph: every node that has a stored embedding gets a pseudo label, and the network is trained on from
    its best weights with L_nm added, reading no label at all.

    Four additions to the paper's mechanism, each of which can be switched off: `guard`, `evidence_floor`, stored
    `pseudo_labels` and a learning rate of its own for recovery (README, 'What recovery does').

    Args:
        hidden: width h of each of the three heads.
        aggregator: gcn, sgc, sage or gat.
        sampler: random, major, degree or none (Algorithm 1).
        diffusion: whether mu and log sigma are diffused (Eq. 4), at rates from gamma_max down to gamma_min.
        lambda_ce, lambda_kl, lambda_df, lambda_nm: weights of the losses.
        dropout: on the aggregated features and on the embedding, in `fit` only.
        weight_decay: of the aggregators' weights, in `fit` only; W_z is free.
        guard: in recovery, a feature row longer (sum of absolute values) than any the model was fitted on is believed
            the less the louder it is: its length l becomes longest^2 / l.
        evidence_floor: in recovery, a node of whose clean feature mass less than this share is left, of what reaches it
            or of its own, leans on what was stored of it for the missing part; 0 switches it off.
        pseudo_labels: `stored`, the model's answers on the clean graph; or `second-layer`, the paper's: those that the
            second layer gives on the perturbed graph over the stored embeddings, where hostile links have a say.
        noise_weight: W_z is this number for all nodes instead of being learned (the paper's ablation of hidden noise).
        samples: noise draws averaged at inference; 0 takes eps = 0.
        device: where the tensors live.
    """

    hidden: int = 200
    aggregator: str = "gcn"
    sampler: str = "random"
    diffusion: bool = True
    gamma_min: float = 0.9
    gamma_max: float = GAMMA_MAX
    lambda_ce: float = 1.0
    lambda_kl: float = 1.0
    lambda_df: float = 1.0
    lambda_nm: float = 1.0
    epochs: int = 200
    learning_rate: float = 1e-2
    dropout: float = 0.5
    weight_decay: float = 5e-4
    recovery_epochs: int = 300
    recovery_learning_rate: float = 3e-3
    guard: bool = True
    evidence_floor: float = 0.5
    pseudo_labels: str = "stored"
    noise_weight: float | None = None
    samples: int = 0
    device: str = "cpu"

    name: ClassVar[str] = "gvdn"
    capabilities: ClassVar[Capabilities] = Capabilities(
        snapshot=True,
        recovers=True,
        recover_options=("known", "labels", "look", "resume"),
        embeds=True,
        uncertainty=True,
    )
    paper_settings: ClassVar[Mapping[str, Any]] = PAPER
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "aggregator", "noise_weight")

    def __post_init__(self) -> None:
        AGGREGATORS.canonical(self.aggregator)
        SAMPLERS.canonical(self.sampler)
        if self.pseudo_labels not in recovery.PSEUDO_LABELS:
            known = did_you_mean(self.pseudo_labels, list(recovery.PSEUDO_LABELS))
            raise InvalidInput(f"unknown pseudo_labels {self.pseudo_labels!r}{known}")
        if not 0 < self.gamma_min <= self.gamma_max < 1:
            raise InvalidInput(f"expected 0 < gamma_min <= gamma_max < 1, got {self.gamma_min} and {self.gamma_max}")
        if not 0 <= self.evidence_floor <= 1:
            raise InvalidInput(f"expected an evidence_floor in [0, 1], got {self.evidence_floor}")
        if self.noise_weight is not None and not 0 <= self.noise_weight <= 1:
            raise InvalidInput(f"expected noise_weight in [0, 1], got {self.noise_weight}")
        require_settings(
            self,
            counts=("hidden", "epochs", "recovery_epochs"),
            shares=("dropout",),
            positive=("learning_rate", "recovery_learning_rate"),
            not_negative=("weight_decay", "lambda_ce", "lambda_kl", "lambda_df", "lambda_nm", "samples"),
        )

    def fit(
        self,
        graph: Graph,
        split: Split,
        *,
        seed: int,
        callback: Callback | None = None,
        resume: Path | None = None,
    ) -> GVDN:
        """Algorithm 2 on the clean graph; the weights of the best validation accuracy are kept, with their Gamma."""
        objective, optimizer = self.training(graph, split, seed=seed)
        outcome = train(
            objective, optimizer, self.epochs, seed=seed, purpose="fit gvdn", callback=callback, resume=resume
        )
        self.learned(graph, objective.network, outcome, seed)
        self.rate_, self.ids_, self.recovered_ = objective.schedule[outcome.epoch], graph.ids, False
        self.train_ids_, self.train_labels_ = graph.ids[split.train], graph.labels[split.train]
        H_emb, logits = self._forward(graph)
        own = row_lengths(graph).astype(np.float32)
        self.memory_ = Memory(graph.ids, H_emb, logits, feature_mass(graph), own, longest_row(graph))
        return self

    def training(self, graph: Graph, split: Split, *, seed: int) -> tuple[Objective, torch.optim.Optimizer]:
        """What `fit` trains, at its first epoch: the objective and its optimizer."""
        require_trainable(graph, split)
        device = self.place()
        with borrow(seed, "init", "gvdn"):
            network = Encoder(graph.num_features, self.hidden, graph.num_classes, graph.num_nodes, self.aggregator)
        self.held(network).to(device)
        labels = torch.from_numpy(graph.labels.copy()).to(device)
        train_nodes, val_nodes = (torch.from_numpy(part.copy()).to(device) for part in (split.train, split.val))
        objective = Objective(
            network=network,
            view=view_of(graph, self.aggregator, device),
            schedule=self.schedule(self.epochs),
            weights=self.weights(),
            nodes=train_nodes,
            labels=labels[train_nodes],
            classes=graph.num_classes,
            sampler=SAMPLERS[self.sampler],
            near=Neighbourhood(graph, split.train, device),
            val=(val_nodes, labels[val_nodes]) if len(val_nodes) else None,
            dropout=self.dropout,
        )
        return objective, self.optimizer(network, self.learning_rate, self.weight_decay)

    def recover(
        self,
        graph: Graph,
        *,
        known: Shaped[np.ndarray, " k"] | None = None,
        labels: bool = False,
        callback: Callback | None = None,
        look: recovery.Look | None = None,
        resume: Path | None = None,
    ) -> GVDN:
        """Algorithm 3 on a perturbed graph: a new fitted model; this one stays as it was.

        Args:
            known: ids of whom what the fit kept may be used (embedding, answer, row of W_z); all when left out.
            labels: whether the training labels may be used too; the paper uses none.
            look: called after each epoch with what the network infers then (see `recovery.Look`).
        """
        return recovery.recover(self, graph, known=known, labels=labels, callback=callback, look=look, resume=resume)

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node; with `samples`, the mean over as many draws."""
        if self.samples:
            return self.uncertainty(graph, self.samples).probs
        _, logits = self._forward(graph)
        return probabilities(logits)

    def embed(self, graph: Graph) -> Float[np.ndarray, "n h"]:
        """H_emb of every node."""
        return self._forward(graph)[0].cpu().numpy()

    def uncertainty(self, graph: Graph, samples: int = 20) -> Uncertainty:
        """The predictive mean over draws of the noise, its entropy split into expected and mutual information."""
        self.require_fitted(graph)
        if samples < 1:
            raise InvalidInput(f"expected at least one draw, got {samples}")
        draws = torch_generator(self.seed_, "inference", "gvdn")
        probs = [probabilities(self._forward(graph, draws)[1]) for _ in range(samples)]
        return split_entropy(np.stack(probs))

    def build(self, features: int, classes: int) -> Encoder:
        return Encoder(features, self.hidden, classes, len(self.ids_), self.aggregator)

    def kept(self) -> dict[str, np.ndarray]:
        train = {"train_ids": self.train_ids_, "train_labels": self.train_labels_}
        return {"ids": self.ids_} | train | self.memory_.arrays()

    def facts(self) -> dict[str, Any]:
        return {"recovered": self.recovered_, "rate": list(self.rate_), "longest_row": self.memory_.longest_row}

    def restore(self, kept: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.ids_, self.train_ids_, self.train_labels_ = kept["ids"], kept["train_ids"], kept["train_labels"]
        self.memory_ = Memory.of(kept, float(facts["longest_row"]), self.place())
        self.rate_ = Rate(*(float(factor) for factor in facts["rate"]))
        self.recovered_ = bool(facts["recovered"])

    def recovery_rounds(self) -> int:
        return self.recovery_epochs

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        return {
            "nodes_with_stored_embedding": float((self.memory_.places(graph) >= 0).mean()),
            "nodes_that_lean_on_it": float((self.memory_.lean(graph, self.evidence_floor) > 0).mean()),
        }

    # ---- what fit, recover and predict_proba are made of

    @torch.no_grad()
    def _forward(self, graph: Graph, noise: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """H_emb and logits; eps = 0 unless there is a generator to draw it from."""
        self.require_fitted(graph)
        graph = self.guarded(graph)
        return self._pass(view_of(graph, self.aggregator, self.place()), graph, noise)

    def through(self, graph: Graph) -> tuple[WeightedView, Callable[[View], Tensor]]:
        """A view whose edges can be weighed, and the logits that a view of it gives."""
        graph = self.guarded(graph)
        return WeightedView(graph, graph.edges, self.place()), lambda view: self._pass(view, graph)[1]

    def _pass(
        self, view: View | AttentionView, graph: Graph, noise: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        hidden = self.network_.first_layer(view)
        q = hidden.q.diffuse(self.rate_)
        eps = None if noise is None else torch.randn(hidden.H.shape, generator=noise).to(self.device)
        H_emb = self.network_.mix(hidden.H, q.mu if eps is None else q.sample(eps), self.W_z(graph))
        lean = self.lean(graph)
        if lean is not None:
            H_emb = lean.embedding(H_emb)
        logits = self.network_.second_layer(view, H_emb)
        return H_emb, logits if lean is None else lean.answer(logits)

    def W_z(self, graph: Graph) -> Float[Tensor, "m h"]:
        """The row of each node of the graph, by id; zeros for a node never seen."""
        learned = gather_rows(self.network_.W_z.detach(), find_ids(self.ids_, graph.ids))
        return learned if self.noise_weight is None else torch.full_like(learned, self.noise_weight)

    def held(self, network: Encoder) -> Encoder:
        """The network, its W_z held at `noise_weight` if that is given."""
        if self.noise_weight is not None:
            network.W_z.requires_grad_(False).fill_(self.noise_weight)
        return network

    def guarded(self, graph: Graph) -> Graph:
        """The graph as a recovered model sees it: no feature row longer than any of the fit; else as it is."""
        return guarded(graph, self.memory_.longest_row) if self.recovered_ and self.guard else graph

    def lean(self, graph: Graph) -> Lean | None:
        """Which nodes lean on their stored embedding, and on what; None where all stand by themselves."""
        if not self.recovered_ or self.evidence_floor <= 0:
            return None
        weight = self.memory_.lean(graph, self.evidence_floor)
        if not weight.any():
            return None
        leaning = torch.from_numpy(weight)[:, None].to(self.device)
        return Lean(leaning, self.memory_.embeddings(graph), self.memory_.answers(graph))

    def optimizer(self, network: Encoder, learning_rate: float, weight_decay: float = 0.0) -> torch.optim.Optimizer:
        """Adam; weight decay falls on the aggregators' weights, W_z is free."""
        others = [parameter for name, parameter in network.named_parameters() if name != "W_z"]
        groups: list[dict[str, Any]] = [{"params": others, "weight_decay": weight_decay}, {"params": [network.W_z]}]
        return torch.optim.Adam(groups, lr=learning_rate, fused=True)

    def schedule(self, epochs: int) -> list[Rate]:
        """The factors of mu and log sigma, epoch by epoch."""
        return diffused(epochs, self.gamma_min, self.gamma_max) if self.diffusion else undiffused(epochs)

    def weights(self) -> Weights:
        """The lambdas."""
        return Weights(self.lambda_ce, self.lambda_kl, self.lambda_df, self.lambda_nm)
