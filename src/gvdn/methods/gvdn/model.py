"""GVDN: train on the clean graph, store the embeddings, recover on the perturbed graph."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.files import second_progress
from gvdn.graph import Graph, GraphLike, Split
from gvdn.graph.graph import find_ids
from gvdn.limits import short
from gvdn.methods.base import Base, mean_of_draws, probabilities
from gvdn.methods.contract import Capabilities
from gvdn.methods.diagnosing import Diagnosing
from gvdn.methods.gvdn import recovery
from gvdn.methods.gvdn.choice import (
    ALGORITHM_3,
    AS_IT_IS,
    FITTED,
    JUDGING,
    TRAINED,
    TRUST,
    WAYS,
    Report,
    choose,
    withheld_rows,
)
from gvdn.methods.gvdn.memory import STORED, Memory, gather_rows
from gvdn.methods.gvdn.objective import Objective, adam
from gvdn.metrics import Uncertainty
from gvdn.nn.aggregators import AGGREGATORS, AttentionView, view_of
from gvdn.nn.diffusion import GAMMA_MAX, Rate, diffused, undiffused
from gvdn.nn.dropout import normal_like
from gvdn.nn.encoder import Encoder, Fallback, Noise, Pass
from gvdn.nn.samplers import SAMPLERS, Neighbourhood
from gvdn.nn.view import View, WeightedView
from gvdn.registry import did_you_mean
from gvdn.schema import Field, Schema
from gvdn.seeds import generator
from gvdn.training.loop import Callback, Labelled, train
from gvdn.trust.front import Front, front_of
from gvdn.trust.guard import guarded, outliers
from gvdn.trust.stored import BASELINE, LazyBaseline


class Kept(NamedTuple):
    """What is stored of some nodes of the clean graph."""

    memory: Memory
    baseline: LazyBaseline


@dataclass
class GVDN(Diagnosing, Base):
    """Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024), with its recovery (Algorithms 1 to 3).

    `fit` minimises L_ce + L_kl + L_df on the clean graph and stores the embedding H_emb of every node. `recover` takes
    the perturbed graph: every node that has a stored embedding gets a pseudo label, and the network is trained further
    from its best weights with L_nm added; no label is read.

    Four additions to the paper's mechanism can each be switched off: `guard`, `evidence_floor`, stored `pseudo_labels`
    and `recovery_learning_rate`; `GVDN.preset(dataset, paper=True)` switches off all of them. A fifth, `trust`, is for
    quiet perturbations and new nodes, and has to be switched on.

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
            stored are joined with what their rows and links say, and recovery that would do harm is not done.
        guard: in recovery, scale a feature row whose L1 norm exceeds max_norm, the clean graph's, to max_norm^2 / norm.
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
    trust: bool = False
    guard: bool = True
    evidence_floor: float = 0.5
    pseudo_labels: str = "stored"
    noise_weight: float | None = None
    samples: int = 0

    name: ClassVar[str] = "gvdn"
    saved: ClassVar[Mapping[str, str]] = {"ids": "ids n", **STORED, **BASELINE}
    known_facts: ClassVar[Schema] = {
        "recovered": Field(bool),
        "way": Field(str),
        "report": Field(dict, optional=True, fields=Report.fields),
        "rate": Field(list, low=2, high=2, items=Field(float, low=0, high=1)),
        "max_norm": Field(float, low=0),
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
        recover_options=("known", "labels", "look", "resume"),
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

    def build(self, features: int, classes: int, generator: Generator | None) -> Encoder:
        network = Encoder(features, self.hidden, classes, len(self.ids_), self.aggregator, generator=generator)
        if self.noise_weight is not None:
            network.W_z.requires_grad_(False).fill_(self.noise_weight)
        return network

    def view(self, graph: Graph) -> View | AttentionView:
        return view_of(graph, self.aggregator, self.torch_device())

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> Objective:
        return self._objective(network, graph, view, train, self.epochs, val=val, dropout=self.dropout)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return adam(network, self.learning_rate, self.weight_decay)

    def remember(self, graph: Graph, split: Split) -> None:
        self.rate_ = self.schedule(self.epochs)[min(self.outcome_.epoch, self.epochs - 1)]
        made = self._forward(graph)
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
        return Objective(**parts)

    def schedule(self, epochs: int) -> list[Rate]:
        """The factors of mu and log sigma in each epoch."""
        return diffused(epochs, self.gamma_min, self.gamma_max) if self.diffusion else undiffused(epochs)

    # ---- recovery: Algorithm 3

    def recover(
        self,
        graph: GraphLike,
        *,
        known: Shaped[np.ndarray, " k"] | None = None,
        labels: bool = False,
        callback: Callback | None = None,
        look: recovery.Look | None = None,
        resume: Path | None = None,
    ) -> "GVDN":
        """Train further on a perturbed graph (Algorithm 3): returns a new fitted model; this one stays as it was.

        With `trust`, links and rows are judged first and count as far as they are trusted. Whether that is better than
        Algorithm 3 alone, or than leaving the model as it is, is found out by withholding a tenth of the stored
        answers: the way that brings most of them back is taken, and `report_` of the new model says which.

        Args:
            known: ids of the nodes whose stored embedding, prediction and row of W_z may be used; all when left out.
            labels: whether the training labels may be used too; the paper uses none.
            callback: called after each epoch with its number, from 1, and its losses.
            look: called after each epoch with a function that computes embeddings and logits (`recovery.Look`).
            resume: a file that a stopped recovery continues from; delete it once the new model is saved.
        """
        graph = self.accepted(graph)
        stored = self.memory_.ids if known is None else np.intersect1d(self.memory_.ids, np.asarray(known))
        rows = np.flatnonzero(np.isin(graph.ids, stored))
        if not rows.size:
            raise InvalidInput(f"no node of {graph.name} has a stored embedding to recover from; give ids of the fit")
        if not self.trust:
            kept = self._stored(known)
            return self._recovered(graph, kept, ALGORITHM_3, labels=labels, callback=callback, look=look, resume=resume)
        control = withheld_rows(rows, generator(self.seed_, "recover", "withheld"))
        kept = self._stored(np.setdiff1d(stored, graph.ids[control]))
        front = self._front_of(kept.baseline, graph)
        first, second = recovery.in_turn(callback, self.recovery_epochs)
        aside = None if resume is None else second_progress(resume)
        ways = {way: self._unchanged(kept, way) for way in WAYS if way not in TRAINED}
        ways[ALGORITHM_3] = self._recovered(graph, kept, ALGORITHM_3, labels=labels, callback=first, resume=aside)
        ways[TRUST] = self._recovered(
            graph, kept, TRUST, front, labels=labels, callback=second, look=look, resume=resume
        )
        answers = {way: model._probs(graph, front) for way, model in ways.items()}
        before = self.baseline_.stored()
        clean = before.answers[find_ids(before.ids, graph.ids[control])].argmax(axis=1)
        report, all_kept = choose(front, control, clean, answers), self._stored(known)
        chosen = ways[report.chosen] if report.chosen in TRAINED else self._unchanged(all_kept, report.chosen)
        chosen.report_, (chosen.memory_, chosen.baseline_) = report, all_kept
        if aside is not None:
            aside.unlink(missing_ok=True)
        return chosen

    def _stored(self, known: Shaped[np.ndarray, " k"] | None) -> Kept:
        """What is stored, of these nodes alone."""
        if known is None:
            return Kept(self.memory_, self.baseline_)
        return Kept(self.memory_.only(np.asarray(known)), self.baseline_.only(np.asarray(known)))

    def _unchanged(self, kept: Kept, way: str) -> "GVDN":
        """This model without training and without the rows of W_z of withheld nodes, which get `blank_row`."""
        new = copy.copy(self)
        new.recovered_, new.way_, new.val_probs_ = True, way, None
        new.memory_, new.baseline_ = kept
        left = ~recovery.withheld(self.memory_.ids, new.memory_.ids, self.ids_)
        new.network_, new.ids_ = copy.deepcopy(self.network_), self.ids_[left]
        W_z = self.network_.W_z.detach()[torch.from_numpy(left).to(self.network_.W_z.device)]
        new.network_.W_z = torch.nn.Parameter(W_z)
        return new

    def _recovered(
        self, graph: Graph, kept: Kept, way: str, front: Front | None = None, *, labels: bool,
        callback: Callback | None = None, look: recovery.Look | None = None, resume: Path | None = None,
    ) -> "GVDN":  # fmt: skip
        """Algorithm 3 on the graph as this way sees it.

        Args:
            kept: what is stored of the nodes that are not withheld.
            front: what the trust model says of the graph; for a way that does not judge it, None.
        """
        new = copy.copy(self)
        new.recovered_, new.way_, new.ids_, new.val_probs_ = True, way, graph.ids, None
        new.memory_, new.baseline_ = kept
        nodes = np.flatnonzero(new.memory_.rows(graph) >= 0)
        network, seen = self._network_for(graph, new), new.seen(graph, front)
        view, stored = new.view(seen), new.memory_.fallback(seen, self.evidence_floor)
        rows = torch.from_numpy(nodes).to(self.device)
        pseudo = recovery.pseudo_labels(self.pseudo_labels, network, view, stored)[rows]  # line 1
        if labels:
            pseudo = recovery.with_training_labels(pseudo, graph.ids[nodes], self.labels_)
        rest = {"match": (rows, stored.H_emb[rows]), "fallback": stored if stored.weight.any() else None}
        epochs, optimizer = self.recovery_epochs, adam(network, self.recovery_learning_rate)
        task = self._objective(network, seen, view, (rows, pseudo), epochs, **rest)  # line 2
        after = recovery.looking(task, look, callback)
        new.outcome_ = train(
            task, optimizer, epochs, seed=self.seed_, purpose="recover gvdn", callback=after, resume=resume
        )
        new.network_, new.rate_ = network, task.schedule[new.outcome_.epoch]
        hidden = recovery.withheld(self.memory_.ids, new.memory_.ids, self.ids_)
        W_z, new.ids_ = recovery.with_absent_rows(network.W_z, graph.ids, self.network_.W_z, self.ids_, hidden)
        network.W_z = torch.nn.Parameter(W_z)
        return new

    def _network_for(self, graph: Graph, new: "GVDN") -> Encoder:
        """A copy of the network with the rows of W_z of this graph's nodes; `blank_row` for new and withheld ones."""
        network = new.initial(graph.num_features, len(self.class_names_), self.seed_)
        if self.noise_weight is None:
            W_z = self.W_z(graph)
            hidden = recovery.withheld(self.memory_.ids, new.memory_.ids, graph.ids)
            W_z[torch.from_numpy(hidden).to(W_z.device)] = self.blank_row()
        else:
            W_z = network.W_z
        network.load_state_dict(self.network_.state_dict() | {"W_z": W_z})
        return network

    def adopted(self, network: Encoder, graph: Graph) -> dict[str, Tensor]:
        W_z = self.W_z(graph) if self.noise_weight is None else network.W_z
        return self.network_.state_dict() | {"W_z": W_z}

    def recovery_rounds(self) -> int:
        return self.recovery_epochs * (2 if self.trust else 1)

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        front = self.front(graph)
        return {
            "nodes_with_stored_embedding": float((self.memory_.rows(graph) >= 0).mean()),
            "nodes_using_it": float((self._weight_of_stored(self.seen(graph, front), front) > 0).mean()),
        }

    def _weight_of_stored(self, seen: Graph, front: Front | None) -> Float[np.ndarray, " n"]:
        """How far the answer of each node is the stored one."""
        floor = self.evidence_floor if self._falls_back() else 0.0
        weights = self.memory_.stored_weight(seen, floor)
        return weights if front is None else np.maximum(weights, np.where(front.known >= 0, front.doubt, 0))

    def why(self, graph: Graph) -> list[str]:
        """Of a recovered model: which nodes use what was stored of them, and where the guard scaled a row down."""
        if not self.recovered_:
            return super().why(graph)
        front = self.front(graph)
        seen = self.seen(graph, front)
        above = outliers(graph, self.memory_.max_norm) if self.guard else np.zeros(graph.num_nodes, dtype=bool)
        near = graph.adjacency @ above.astype(np.float32) > 0
        weights, left_out = self._weight_of_stored(seen, front), graph.degrees - seen.degrees
        told = zip(weights.tolist(), above.tolist(), near.tolist(), left_out.tolist(), strict=True)
        return ["; ".join(_origins(*one)) for one in told]

    # ---- predictions

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node; with `samples`, the mean over as many draws."""
        graph = self.accepted(graph)
        return self._probs(graph, self.front(graph))

    def _probs(self, graph: Graph, front: Front | None) -> Float[np.ndarray, "n k"]:
        if self.samples:
            return self._drawn(graph, front, self.samples).probs
        return self.joined(front, probabilities(self._forward(graph, front).logits))

    def front(self, graph: Graph) -> Front | None:
        """What the trust model says of a graph, if this model is recovered and uses it."""
        if not (self.recovered_ and self.trust):
            return None
        return self._front_of(self.baseline_, graph)

    def _front_of(self, baseline: LazyBaseline, graph: Graph) -> Front:
        return front_of(baseline.trust(), baseline.stored(), graph, guard=self.guard)

    def joined(self, front: Front | None, probs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """The network's answers with those of the other witnesses, as this way of recovering has it."""
        if front is None:
            return probs
        return front.answers(probs) if self.way_ in JUDGING else front.with_stored(probs)

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

    def through(self, graph: Graph) -> tuple[WeightedView, Callable[[View], Tensor]]:
        """A view whose edges can be given weights, and the function from such a view to logits."""
        seen = self.seen(graph)
        return WeightedView(seen, seen.edges, self.torch_device()), lambda view: self._pass(view, seen).logits

    def W_z(self, graph: Graph) -> Float[Tensor, "m h"]:
        """The row of each node of the graph, by id; `blank_row` for a new node."""
        rows = find_ids(self.ids_, graph.ids)
        learned = gather_rows(self.network_.W_z.detach(), rows)
        learned[torch.from_numpy(rows < 0).to(learned.device)] = self.blank_row()
        return learned if self.noise_weight is None else torch.full_like(learned, self.noise_weight)

    def blank_row(self) -> Float[Tensor, " h"]:
        """The row of W_z of a node of which nothing is stored: zeros, so that its H_emb is H."""
        return torch.zeros(self.hidden, device=self.torch_device())

    def seen(self, graph: Graph, front: Front | None = None) -> Graph:
        """The graph as the network sees it: weighed, or with feature rows of large norm scaled down, or as it is.

        Args:
            front: what the trust model says of the graph, where that is known already.
        """
        if not self.recovered_ or self.way_ == AS_IT_IS:
            return graph
        if self.way_ in JUDGING:
            judged = front or self.front(graph)
            assert judged is not None, "the way of trust has a trust model"
            return judged.seen
        return guarded(graph, self.memory_.max_norm) if self.guard else graph

    def fallback(self, graph: Graph) -> Fallback | None:
        """What was stored of the nodes, with its weight, if this model is recovered and any weight is above 0."""
        if not self._falls_back():
            return None
        stored = self.memory_.fallback(graph, self.evidence_floor)
        return stored if stored.weight.any() else None

    def _falls_back(self) -> bool:
        return self.recovered_ and self.way_ != AS_IT_IS and self.evidence_floor > 0

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | self.memory_.arrays()

    def facts(self) -> dict[str, Any]:
        report = None if self.report_ is None else self.report_.as_json()
        told = {"recovered": self.recovered_, "way": self.way_, "report": report}
        return told | {"rate": list(self.rate_), "max_norm": self.memory_.max_norm}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)
        self.memory_ = Memory.restored(arrays, float(facts["max_norm"]), self.torch_device())
        self.rate_ = Rate(*(float(factor) for factor in facts["rate"]))
        self.recovered_, self.way_ = bool(facts["recovered"]), facts["way"]
        self.report_ = None if facts.get("report") is None else Report(**facts["report"])
        if self.way_ not in (FITTED, *WAYS) or self.recovered_ == (self.way_ == FITTED):
            raise InvalidInput(f"expected a way of recovering as {', '.join(WAYS)}, got {short(self.way_)}")


def _origins(weight: float, own: bool, neighbour: bool, left_out: int) -> list[str]:
    """How the prediction of a node of a recovered model was made, in words."""
    told = [f"stored answer, weight {weight:.0%}"] if weight >= 0.005 else []
    told += [f"{left_out} of its links left out"] if left_out else []
    told += ["its feature row was scaled down"] if own else []
    return told + (["a neighbour's feature row was scaled down"] if neighbour else [])
