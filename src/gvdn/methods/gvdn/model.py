"""GVDN: train on the clean graph, store the embeddings, recover on the perturbed graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Split
from gvdn.graph.graph import find_ids
from gvdn.limits import short
from gvdn.methods.base import Base, mean_of_draws, probabilities
from gvdn.methods.contract import Capabilities
from gvdn.methods.gvdn import recovery
from gvdn.methods.gvdn.choice import FITTED, IN_TURN, WAYS, Report
from gvdn.methods.gvdn.memory import STORED, Memory, gather_rows
from gvdn.methods.gvdn.objective import Objective, adam, objective_of
from gvdn.methods.gvdn.recovering import Recovering
from gvdn.methods.search import Space, space
from gvdn.metrics import Uncertainty
from gvdn.nn.aggregators import AGGREGATORS, AttentionView, view_of
from gvdn.nn.diffusion import GAMMA_MAX, Rate, diffused, undiffused
from gvdn.nn.dropout import normal_like
from gvdn.nn.encoder import Encoder, Noise, Pass
from gvdn.nn.samplers import SAMPLERS, Neighbourhood
from gvdn.nn.view import View, WeightedView
from gvdn.registry import did_you_mean
from gvdn.schema import Field, Schema
from gvdn.seeds import torch_generator
from gvdn.training.loop import Labelled
from gvdn.trust.front import Front
from gvdn.trust.guard import ordinary_norm
from gvdn.trust.stored import BASELINE


@dataclass
class GVDN(Recovering, Base):
    """Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024), with its recovery (Algorithms 1 to 3).

    `fit` minimises L_ce + L_kl + L_df on the clean graph and stores the embedding H_emb of every node. `recover` takes
    the perturbed graph: every node that has a stored embedding gets a pseudo label, and the network is trained further
    from its best weights with L_nm added; no label is read unless `labels` or `poisoned` ask for that.

    Five additions to the paper's mechanism are on, and each can be switched off: `trust`, `guard`, `evidence_floor`,
    stored `pseudo_labels` and `recovery_learning_rate`; `GVDN.preset(dataset, paper=True)` switches off all of them.

    >>> import gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> split = gvdn.random_split(graph, seed=0)
    >>> model = GVDN(hidden=16, epochs=3, recovery_epochs=2).fit(graph, split, seed=0)
    >>> attack = gvdn.perturb(graph, "random-connections", split, seed=0)
    >>> healed = model.recover(attack.graph)
    >>> healed.embed(attack.graph).shape == (attack.graph.num_nodes, 16)
    True

    Args:
        hidden: width h of each of the three heads.
        aggregator: gcn, sgc, sage or gat.
        sampler: random, major, degree or none (Algorithm 1).
        diffusion: whether mu and log sigma are diffused (Eq. 4), at rates from gamma_max down to gamma_min.
        lambda_ce, lambda_kl, lambda_df, lambda_nm: weights of the losses (Eq. 12).
        dropout: on the aggregated features and on the embedding, in `fit` only.
        weight_decay: of the aggregators' weights, in `fit` only; W_z has none.
        trust: in recovery, links and rows count as far as they are trusted, the answers of nodes of which nothing is
            stored are joined with what their rows and links say, and recovery that would do harm is not done. Meant
            for quiet perturbations and new nodes; recovery then trains twice.
        guard: in recovery, scale a feature row whose L1 norm exceeds max_norm, the clean graph's, to max_norm^2 / norm.
            In `fit`, do so with rows that are outlying in the very graph that is fitted on, many times as long as the
            others (`gvdn.trust.guard.ordinary_norm`): that graph may be poisoned. Without such a row, nothing changes.
        evidence_floor: in recovery, a node with less than this share of its clean feature mass, of what reaches it or
            of its own, uses what was stored of it, with a weight that grows as the share falls; 0 switches it off.
        pseudo_labels: `stored`, the predictions on the clean graph; or `second-layer`, the paper's: what the second
            layer predicts on the perturbed graph from the stored embeddings, where added edges have an influence.
        noise_weight: W_z is this number for all nodes instead of being learned (an ablation).
        samples: draws of the noise that are averaged at inference; 0 takes eps = 0.
        device: cpu, cuda or cuda:1.
    """

    aggregator: str = "gcn"
    sampler: str = "random"
    diffusion: bool = True
    gamma_min: float = 0.9
    gamma_max: float = GAMMA_MAX
    lambda_ce: float = 1.0
    lambda_kl: float = 1.0
    lambda_df: float = 1.0
    lambda_nm: float = 1.0
    recovery_epochs: int = 300
    recovery_learning_rate: float = 3e-3
    trust: bool = True
    guard: bool = True
    evidence_floor: float = 0.5
    pseudo_labels: str = "stored"
    noise_weight: float | None = None
    samples: int = 0

    name: ClassVar[str] = "gvdn"
    search_space: ClassVar[Space] = space(gamma_min=(0.6, 0.9, 0.98), recovery_learning_rate=(1e-3, 3e-3, 1e-2))
    saved: ClassVar[Mapping[str, str]] = {"ids": "ids n", **STORED, **BASELINE}
    known_facts: ClassVar[Schema] = {
        "recovered": Field(bool),
        "way": Field(str),
        "report": Field(dict, optional=True, fields=Report.fields),
        "rate": Field(list, low=2, high=2, items=Field(float, low=0, high=1)),
        "max_norm": Field(float, low=0),
        "fit_norm": Field(float, low=0, optional=True),
    }
    ranges: ClassVar = {
        "at least 1": ("recovery_epochs",),
        "at most 1,000,000": ("recovery_epochs",),
        "at most 10,000": ("samples",),
        "[0, 1]": ("evidence_floor", "noise_weight"),
        "positive": ("recovery_learning_rate",),
        "at least 0": ("lambda_ce", "lambda_kl", "lambda_df", "lambda_nm", "samples"),
    }
    capabilities: ClassVar[Capabilities] = Capabilities(
        snapshot=True,
        recovers=True,
        recover_options=("known", "labels", "look", "resume", "poisoned"),
        embeds=True,
        uncertainty=True,
        diagnoses=True,
    )
    paper_settings: ClassVar[Mapping[str, Any]] = {
        "learning_rate": 1e-3,
        "recovery_learning_rate": 1e-3,
        "dropout": 0.0,
        "weight_decay": 0.0,
        "guard": False,
        "evidence_floor": 0.0,
        "pseudo_labels": "second-layer",
        "trust": False,
    }
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "aggregator", "noise_weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        AGGREGATORS.canonical(self.aggregator)
        SAMPLERS.canonical(self.sampler)
        if self.pseudo_labels not in recovery.PSEUDO_LABELS:
            known = did_you_mean(self.pseudo_labels, list(recovery.PSEUDO_LABELS))
            raise InvalidInput(f"unknown pseudo_labels {self.pseudo_labels!r}{known}")
        if not 0 < self.gamma_min <= self.gamma_max < 1:
            raise InvalidInput(f"expected 0 < gamma_min <= gamma_max < 1, got {self.gamma_min} and {self.gamma_max}")

    # ---- training: Algorithm 2 in the steps of the base

    def prepare(self, graph: Graph) -> None:
        self.ids_, self.recovered_, self.way_ = graph.ids, False, FITTED
        self.report_: Report | None = None
        self.fit_norm_ = ordinary_norm(graph.features) if self.guard else None

    def prepared(self, network: Any, graph: Graph, split: Split) -> tuple[Any, torch.optim.Optimizer]:
        return super().prepared(network, self.seen(graph), split)

    def initial(self, features: int, classes: int, seed: int) -> Encoder:
        """As of every method, but W_z, which has a row per node, is drawn on the device: a GPU has rows of its own."""
        device, drawn = self.torch_device(), torch_generator(seed, "init", self.purpose())
        of_nodes = None if device.type == "cpu" else torch_generator(seed, "init", self.purpose(), "W_z", device=device)
        return self.build(features, classes, drawn, of_nodes).to(device)

    def build(
        self, features: int, classes: int, generator: Generator | None, of_nodes: Generator | None = None
    ) -> Encoder:
        shape = (features, self.hidden, classes, len(self.ids_))
        network = Encoder(*shape, self.aggregator, generator=generator, of_nodes=of_nodes)
        if self.noise_weight is not None:
            network.W_z.requires_grad_(False).fill_(self.noise_weight)
        return network

    def view(self, graph: Graph) -> View | AttentionView:
        return view_of(graph, self.aggregator, self.torch_device())

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> Objective:
        self._trained_on = graph, view
        return self._objective(network, graph, view, train, self.epochs, val=val, dropout=self.dropout)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return adam(network, self.learning_rate, self.weight_decay)

    @torch.no_grad()
    def remember(self, graph: Graph, split: Split) -> None:
        self.rate_ = self.schedule(self.epochs)[min(self.outcome_.epoch, self.epochs - 1)]
        graph = self.seen(graph)
        trained_on, view = vars(self).pop("_trained_on", (None, None))
        made = self._pass(view if trained_on is graph else self.view(graph), graph)
        self.memory_ = Memory.of(graph, made.H_emb, made.logits)
        self.keep_baseline(graph)

    def _objective(self, network: Any, graph: Graph, view: Any, train: Labelled, epochs: int, **rest: Any) -> Objective:
        return self.objective(
            network=network,
            view=view,
            schedule=self.schedule(epochs),
            weights={"ce": self.lambda_ce, "kl": self.lambda_kl, "df": self.lambda_df, "nm": self.lambda_nm},
            train=train,
            near=Neighbourhood(graph, train[0].cpu().numpy(), self.torch_device()),
            sampler=SAMPLERS[self.sampler],
            select=self.select,
            class_weights=self.class_weights(train[1]),
            **rest,
        )

    def objective(self, **parts: Any) -> Objective:
        """What one iteration minimises, in `fit` and in `recover`; a subclass may return an objective of its own."""
        return objective_of(**parts)

    def schedule(self, epochs: int) -> list[Rate]:
        """The factors of mu and log sigma in each epoch."""
        return diffused(epochs, self.gamma_min, self.gamma_max) if self.diffusion else undiffused(epochs)

    def adopted(self, network: Encoder, graph: Graph) -> dict[str, Tensor]:
        W_z = self.W_z(graph) if self.noise_weight is None else network.W_z
        return self.network_.state_dict() | {"W_z": W_z}

    # ---- predictions

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node; with `samples`, the mean over as many draws."""
        graph = self.accepted(graph)
        return self._probs(graph, self.front(graph))

    def _probs(self, graph: Graph, front: Front | None) -> Float[np.ndarray, "n k"]:
        if self.samples:
            return self._drawn(graph, front, self.samples).probs
        return self.joined(front, probabilities(self._forward(graph, front).logits))

    def embed(self, graph: GraphLike) -> Float[np.ndarray, "n h"]:
        """H_emb of every node, with eps = 0."""
        return self._forward(graph).H_emb.cpu().numpy()

    def uncertainty(self, graph: GraphLike, samples: int = 20) -> Uncertainty:
        """The mean prediction over draws of the noise, and its entropy in two parts."""
        graph = self.accepted(graph)
        return self._drawn(graph, self.front(graph), samples)

    @torch.no_grad()
    def _drawn(self, graph: Graph, front: Front | None, samples: int) -> Uncertainty:
        seen = self.seen(graph, front)
        view, generator = self.view(seen), self.inference_generator()

        def draw() -> np.ndarray:
            return self.joined(front, probabilities(self._pass(view, seen, lambda H: normal_like(H, generator)).logits))

        return mean_of_draws(draw, samples)

    @torch.no_grad()
    def _forward(self, graph: GraphLike, front: Front | None = None) -> Pass:
        seen = self.seen(self.accepted(graph), front)
        return self._pass(self.view(seen), seen)

    def _pass(self, view: Any, graph: Graph, noise: Noise | None = None) -> Pass:
        """Eq. 3 to 7 on a graph that the guard has seen."""
        return self.network_(view, self.rate_, self.W_z(graph), noise=noise, fallback=self.fallback(graph))

    def opaque(self) -> str:
        unknown = f"its aggregator is {self.aggregator}, and only gcn is differentiated"
        return "" if self.aggregator == "gcn" else unknown

    def through(self, graph: Graph) -> tuple[WeightedView, Callable[[View], Tensor]]:
        """A view whose edges can be given weights, and the function from such a view to logits."""
        seen = self.seen(graph)
        return WeightedView(seen, seen.edges, self.torch_device()), lambda view: self._pass(view, seen).logits

    def W_z(self, graph: Graph) -> Float[Tensor, "m h"]:
        """The row of each node of the graph, by id; `blank_row` for a new node."""
        rows = find_ids(self.ids_, graph.ids)
        learned = gather_rows(self.network_.W_z.detach(), rows)
        if (rows < 0).any():
            learned[torch.from_numpy(rows < 0).to(learned.device)] = self.blank_row()
        return learned if self.noise_weight is None else torch.full_like(learned, self.noise_weight)

    def blank_row(self) -> Float[Tensor, " h"]:
        """The row of W_z of a node of which nothing is stored: zeros, so that its H_emb is H."""
        return torch.zeros(self.hidden, device=self.torch_device())

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | self.memory_.arrays()

    def facts(self) -> dict[str, Any]:
        report = None if self.report_ is None else self.report_.as_json()
        told = {"recovered": self.recovered_, "way": self.way_, "report": report}
        return told | {"rate": list(self.rate_), "max_norm": self.memory_.max_norm, "fit_norm": self.fit_norm_}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)
        self.memory_ = Memory.restored(arrays, float(facts["max_norm"]), self.torch_device())
        self.rate_ = Rate(*(float(factor) for factor in facts["rate"]))
        self.recovered_, self.way_, self.fit_norm_ = bool(facts["recovered"]), facts["way"], facts.get("fit_norm")
        self.report_ = None if facts.get("report") is None else Report(**facts["report"])
        if self.way_ not in (FITTED, *WAYS, IN_TURN) or self.recovered_ == (self.way_ == FITTED):
            raise InvalidInput(f"expected a way of recovering as {', '.join((*WAYS, IN_TURN))}, got {short(self.way_)}")
