"""GraphSS: infer the labels of a perturbed graph from the predictions on the clean one, by label transition."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped
from torch import Generator, Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Split
from gvdn.graph.graph import find_ids
from gvdn.methods.base import Base, finite
from gvdn.methods.contract import Capabilities
from gvdn.methods.search import Space, space
from gvdn.nn.transition import UNOBSERVED, Labels, Prior, conditional, draw_labels, transition_matrix
from gvdn.registry import did_you_mean
from gvdn.schema import Field, Schema
from gvdn.seeds import torch_generator
from gvdn.training.loop import Best, Callback, Outcome, train
from gvdn.training.selection import WORST, Score, score_of

T = TypeVar("T", bound="GraphSS")
INFERENCES = ("argmax", "drawn")


@dataclass
class GraphSS(Base):
    """Zhuang and Al Hasan, Defending graph convolutional networks against dynamic graph perturbations via Bayesian
    self-supervision (AAAI 2022): z_n ~ Cat(p_n), observed y_n | z_n = k ~ Cat(phi_k), phi_k ~ Dir(alpha_k).

    p_n is the network's prediction on the perturbed graph and y_n the stored one from the clean graph, so such a method
    uses a snapshot, unless `recover(known=...)` withholds the stored predictions of the victims; a node without one has
    no y_n. `recover` sweeps over all nodes at once: z_n is inferred from P(z_n = k) ~ p_nk phi_k,y_n, with phi from the
    training nodes (their label against their clean prediction) in the first `warm_up` sweeps, and from the last labels
    of all nodes in later sweeps. Training nodes always have their given label.

    With `inference="argmax"`, as published, z_n is the most probable label, and every `retrain_every` sweeps, warm-up
    included, the network is trained further on the training nodes if the validation score rose since the last time.
    With `inference="drawn"`, which is ours, z_n is drawn, and after the warm-up the network is trained on the drawn
    labels of all nodes every `retrain_every` sweeps; that is worse where nothing is stored of the victims, and better
    where they arrive in groups.

    The published code chooses its best sweep by the accuracy over all nodes, test nodes included; here it is the
    validation accuracy after the warm-up. 100 sweeps, 40 of them warm-up, 60 epochs per retraining and alpha = 1 are
    those of the GVDN paper's appendix; how often to retrain is not printed: `retrain_every` is ours.
    """

    sweeps: int = 100
    warm_up: int = 40
    retrain_epochs: int = 60
    retrain_every: int = 10
    alpha: float = 1.0
    inference: str = "argmax"

    name: ClassVar[str] = "graphss"
    saved: ClassVar[Mapping[str, str]] = {
        "ids": "ids n",
        "stored": "labels n",
        "phi": "shares classes classes",
    }
    known_facts: ClassVar[Schema] = {"recovered": Field(bool)}
    ranges: ClassVar = {
        "at least 1": ("sweeps", "retrain_epochs", "retrain_every"),
        "at most 1,000,000": ("sweeps", "retrain_epochs", "retrain_every"),
        "positive": ("alpha",),
    }
    search_space: ClassVar[Space] = space(alpha=(0.1, 0.3, 1.0), retrain_every=(5, 10, 20))
    capabilities: ClassVar[Capabilities] = Capabilities(
        snapshot=True,
        recovers=True,
        recover_options=("known",),
        recovers_per_graph=True,
        recovers_with_labels=True,
        embeds=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.warm_up < self.sweeps:
            raise InvalidInput(f"expected warm_up in [0, sweeps), got {self.warm_up} of {self.sweeps}")
        if self.inference not in INFERENCES:
            raise InvalidInput(f"unknown inference {self.inference!r}{did_you_mean(self.inference, list(INFERENCES))}")

    def remember(self, graph: Graph, split: Split) -> None:
        """Store the predictions on the clean graph, and their transition matrix on the training nodes."""
        self.recovered_, self.ids_ = False, graph.ids
        self.stored_ = self.predict_proba(graph).argmax(axis=1)
        given, predicted = (torch.from_numpy(part[split.train]) for part in (graph.labels, self.stored_))
        self.phi_ = transition_matrix(given, predicted, self.prior())

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node; after `recover`, conditional on its stored prediction."""
        graph = self.accepted(graph)
        probs = super().predict_proba(graph)
        if not self.recovered_:
            return probs
        observed = torch.from_numpy(self.observed(graph))
        return finite(conditional(torch.from_numpy(probs), self.phi_.double(), observed).numpy())

    def recover(
        self: T, graph: GraphLike, *, known: Shaped[np.ndarray, " k"] | None = None, callback: Callback | None = None
    ) -> T:
        """Infer the labels of a perturbed graph: returns a new fitted model; this one stays as it was.

        Args:
            known: ids whose stored prediction may be used; all that have one when left out.
            callback: called after each sweep with its number, from 1, and its record.
        """
        graph = self.accepted(graph)
        new = copy.copy(self)
        new.network_ = copy.deepcopy(self.network_)
        new.recovered_, new.val_probs_ = True, None
        if known is not None:
            chosen = np.isin(self.ids_, known)
            new.ids_, new.stored_ = self.ids_[chosen], self.stored_[chosen]
        new.outcome_ = _Inference(new, graph).run(callback)
        return new

    def opaque(self) -> str:
        return "after recover its answers are conditional on stored predictions" if self.recovered_ else ""

    def recovery_rounds(self) -> int:
        return self.sweeps

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        return {"nodes_with_stored_prediction": float((self.observed(graph) != UNOBSERVED).mean())}

    def observed(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        """The stored prediction of each node of the graph, UNOBSERVED for one that has none."""
        rows = find_ids(self.ids_, graph.ids)
        return np.where(rows >= 0, self.stored_[rows], UNOBSERVED) if len(self.ids_) else rows

    def prior(self) -> Prior:
        """alpha of each class in the first sweep."""
        return torch.full((len(self.class_names_),), self.alpha)

    # ---- the steps that LInDT changes

    def settler(self, graph: Graph, generator: Generator) -> Callable[[Labels, Labels], Labels]:
        """A function from the labels of a sweep, and of the one before, to the labels that are counted."""
        return lambda labels, before: labels

    def next_prior(self, alpha: Prior, labels: Labels, before: Labels) -> Prior:
        """alpha of the next sweep."""
        return alpha

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {"phi": self.phi_.numpy()}

    def facts(self) -> dict[str, Any]:
        return {"recovered": self.recovered_}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().restore(arrays, facts)
        self.phi_ = torch.from_numpy(arrays["phi"])
        self.recovered_ = bool(facts["recovered"])


class _Inference:
    """The sweeps over one graph; they change the network and phi of the model."""

    def __init__(self, model: GraphSS, graph: Graph) -> None:
        labelled, split = model.labels_.on(graph, model.class_names_)
        device = model.torch_device()
        self.model, self.graph = model, graph
        self.generator = generator = torch_generator(model.seed_, "recover", model.purpose(), device=device)
        self.view, self.settle = model.view(graph), model.settler(graph, generator)
        self.train, self.val = (torch.from_numpy(part.copy()).to(device) for part in (split.train, split.val))
        self.given = torch.from_numpy(labelled.labels.copy()).to(device)
        self.observed = torch.from_numpy(model.observed(graph)).to(device)
        self.nodes = torch.arange(graph.num_nodes, device=device)
        self.warm, self.alpha = model.phi_.to(device), model.prior().to(device)
        self.probs = self._answer()
        self.labels = torch.where(self.observed == UNOBSERVED, self.probs.argmax(dim=1), self.observed)
        self.inferred = self.labels
        self.phi, self.score, self.taught = self.warm, Score(0.0), WORST

    def run(self, callback: Callback | None) -> Outcome:
        """All sweeps; the model ends with the network and phi of the best one."""
        model, best, history = self.model, Best(), []
        for sweep in range(model.sweeps):
            phi = self.warm if sweep < model.warm_up else self.phi
            history.append(self._sweep(phi))
            if sweep >= model.warm_up:
                best.offer(self.score, sweep, model.network_)
                if best.epoch == sweep:
                    model.phi_ = phi.cpu()
            if self._is_time_to_retrain(sweep):
                self._retrain(sweep)
            if callback is not None:
                callback(sweep + 1, history[-1])
        model.network_.load_state_dict(best.weights)
        return Outcome(best.epoch, history[best.epoch].get("val"), history)

    def _sweep(self, phi: Tensor) -> dict[str, float]:
        """Infer every label and count; returns the share that changed and the validation accuracy."""
        chance, before = conditional(self.probs, phi, self.observed), self.labels
        if self.model.inference == "argmax":
            then, self.inferred = self.inferred, self._with_given(chance.argmax(dim=1))
            self.labels = self._with_given(self.settle(self.inferred, self._unlike(self.inferred, then)))
            self.alpha = self.model.next_prior(self.alpha, self.inferred, then)
        else:
            u = torch.rand(len(chance), generator=self.generator, device=chance.device)
            self.labels = self._with_given(self.settle(self._with_given(draw_labels(chance, u)), before))
            self.alpha = self.model.next_prior(self.alpha, self.labels, before)
        self.phi = transition_matrix(self.labels, self.observed, self.alpha)
        record = {"changed": float((self.labels != before).float().mean())}
        self.score = Score(self.score.value + 1)  # without validation nodes the last sweep is the best
        if len(self.val):
            self.score = Score(*score_of(self.model.select, chance[self.val].log(), self.given[self.val]).tolist())
            record["val"] = self.score.value
        return record

    def _unlike(self, labels: Tensor, before: Tensor) -> Tensor:
        """Labels that differ from these on uncertain nodes alone: those whose label is not the one before, or not the
        observed one."""
        observed = torch.where(self.observed == UNOBSERVED, labels, self.observed)
        return torch.where(labels != before, before, observed)

    def _with_given(self, labels: Tensor) -> Tensor:
        """The labels, with the given ones on the training nodes."""
        return labels.index_copy(0, self.train, self.given[self.train])

    def _is_time_to_retrain(self, sweep: int) -> bool:
        model = self.model
        if model.inference == "drawn":
            return sweep >= model.warm_up and (sweep - model.warm_up) % model.retrain_every == 0
        if sweep % model.retrain_every or not self.score > self.taught:
            return False
        self.taught = self.score
        return True

    def _retrain(self, sweep: int) -> None:
        """Train the network further: on the drawn labels of all nodes, or on the training nodes."""
        model, nothing = self.model, (self.nodes[:0], self.nodes[:0])
        if model.inference == "drawn":
            taught, val = (self.nodes, self.labels), nothing
        else:
            taught, val = (self.train, self.labels[self.train]), (self.val, self.given[self.val])
        task = model.task(model.network_, self.graph, self.view, taught, val)
        purpose = f"retrain {model.purpose()} {sweep}"
        train(task, model.optimizer(model.network_), model.retrain_epochs, seed=model.seed_, purpose=purpose)
        model.network_.eval()
        self.probs = self._answer()

    @torch.no_grad()
    def _answer(self) -> Tensor:
        return self.model.answer(self.model.network_, self.view).softmax(dim=1)
