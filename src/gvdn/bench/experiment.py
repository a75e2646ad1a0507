"""A cell made real: its graphs and split, its fitted models, and what a record holds of their predictions."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gvdn.bench.perturbed import perturbed_graph
from gvdn.data import load_graph
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, choose_split, has_structural_features, with_structural_features
from gvdn.graph.graph import edge_keys
from gvdn.methods import METHODS, make_method
from gvdn.methods.trusted import Trusted
from gvdn.metrics import accuracy, brier_score, expected_calibration_error, normalised_entropy, roc_auc
from gvdn.study import Cell, Scores
from gvdn.training.loop import Callback
from gvdn.trust.front import Front

T = TypeVar("T")
Fields = dict[str, Any]
"""Fields of a record."""
Progress = Callable[[str, int], AbstractContextManager[Callback | None]]
"""Called with a title and a number of steps; what the context gives is called after each step."""


@dataclass
class Fit:
    """A fitted method, how long that took, and the graph that it was fitted on."""

    model: Any
    seconds: float
    graph: Graph

    @cached_property
    def trusted(self) -> Trusted:
        """The method with trust in front."""
        return Trusted(self.model, self.graph)


class Recovery(NamedTuple):
    """A recovered method, its predictions on the perturbed graph, and the fields of a record."""

    model: Any
    probs: np.ndarray
    fields: Fields


class Experiment:
    """The graphs, the split and the scored nodes of a cell, and its method fitted on either graph when asked for.

    A perturbed graph with new nodes has them behind those of the clean graph, so positions serve for both.

    Fits are shared by the modes that begin with the same graph; their seconds stand in each of the records.

    Args:
        attacked: the folder for graphs that attacks made (see `perturbed_graph`).
        fits: where fits are looked up and left; given, several cells share them.
        progress: shown while the method is fitted and recovers.
    """

    def __init__(
        self,
        cell: Cell,
        device: str,
        attacked: Path | None = None,
        *,
        fits: dict[str, Fit] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.cell, self.device = cell, device
        self.clean = load_graph(cell.path or cell.dataset, perturbation=cell.perturbation)
        if not self.clean.hash.startswith(cell.content):
            raise InvalidInput(f"the graph {cell.dataset} changed after the study began; run the command again")
        self.split = choose_split(self.clean, seed=cell.seed, **cell.split)
        made = perturbed_graph(cell, self.clean, self.split, device=device, folder=attacked)
        self.perturbed, self.scored, self.perturbators, self.added = made
        self._fits = {} if fits is None else fits
        self._clean_scores: dict[str, Scores] = {}
        self._progress = progress or (lambda title, steps: nullcontext())

    @cached_property
    def without_victims(self) -> Graph:
        """The clean graph before the victims arrive: the scored nodes and their links are absent."""
        left = self.clean.subgraph(np.delete(np.arange(self.clean.num_nodes), self.scored))
        return with_structural_features(left, left.columns) if has_structural_features(left) else left

    def split_of(self, graph: Graph) -> Split:
        """The split in one of the graphs: the same nodes, less those that are absent there."""
        parts = (graph.locate(self.clean.ids[part]) for part in (self.split.train, self.split.val, self.split.test))
        return Split(*(part[part >= 0] for part in parts))

    def fit(self, graph: Graph) -> Fit:
        """The method, fitted on one of the graphs."""
        cell = self.cell
        name = repr((graph.hash, cell.dataset, cell.method, cell.settings, cell.chosen, cell.seed, cell.split))
        if name not in self._fits:
            given: dict[str, Any] = {"device": self.device, **cell.settings}
            blank = make_method(cell.method, cell.preset, tuned=cell.is_tuned, **given)
            with self._progress(f"fitting {cell.method} on {graph.name}", blank.rounds()) as callback:
                fitted = timed(lambda: blank.fit(graph, self.split_of(graph), seed=cell.seed, callback=callback))
            self._fits[name] = Fit(*fitted, graph)
        return self._fits[name]

    @cached_property
    def recovery(self) -> Recovery:
        """The method, fitted on the clean graph and recovered on the perturbed one with all that was stored."""
        return self.recover(self.clean)

    def poisoned(self) -> Recovery:
        """The method, fitted on the perturbed graph and recovered on it; it is told so where it has the option."""
        told = "poisoned" in METHODS[self.cell.method].capabilities.recover_options
        return self.recover(self.perturbed, **({"poisoned": True} if told else {}))

    def recover(self, graph: Graph, **how: Any) -> Recovery:
        """The method, fitted on one of the graphs and recovered on the perturbed one."""
        fitted = self.fit(graph).model
        with self._progress(f"recovering from {self.cell.perturbation}", fitted.recovery_rounds()) as callback:
            model, recovering = timed(lambda: fitted.recover(self.perturbed, callback=callback, **how))
        probs, answering = timed(lambda: model.predict_proba(self.perturbed))
        seconds = {"recover": recovering, "answer": answering}
        fields = self.fields(model, probs, seconds, fitted_on=graph)
        if getattr(model, "report_", None) is not None:
            fields |= {"recovery": model.report_.as_json(), "links": self.link_scores(model.front(self.perturbed))}
        return Recovery(model, probs, fields)

    def link_scores(self, front: Front) -> Fields | None:
        """How well the links in question at the scored nodes are told apart; None where they are all of one kind."""
        graph, judgement = self.perturbed, front.judgement
        links = graph.edges[judgement.scene.judged]
        at = np.isin(links, self.scored).any(axis=1)
        n = graph.num_nodes
        hostile = np.isin(edge_keys(links, n), edge_keys(np.sort(self.added, axis=1), n))[at]
        if not hostile.any() or hostile.all():
            return None
        found = link_quality(judgement.in_question[at], hostile)
        return {name: round(value, 5) for name, value in found.items()}

    def fields(self, model: Any, probs: np.ndarray, seconds: dict[str, float], *, fitted_on: Graph) -> Fields:
        """What every record of a prediction holds; where the clean graph was fitted on, also the scores there."""
        seconds = {"fit": self.fit(fitted_on).seconds} | seconds
        return {
            "settings": model.get_params(),
            "perturbation_settings": self.perturbation_settings,
            "graph": self.perturbed.hash[:12],
            "scores": scores(probs, self.clean.labels, self.scored),
            "clean": None if self.cell.is_perturbed and fitted_on is self.perturbed else self.clean_scores(fitted_on),
            "epoch": model.outcome_.epoch,
            "validation": model.outcome_.score,
            "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
        }

    def clean_scores(self, fitted_on: Graph) -> Scores:
        """Of the model fitted on the clean graph, or on what it was before the victims came, on the same nodes in the
        clean graph."""
        if fitted_on.hash not in self._clean_scores:
            probs = self.fit(fitted_on).model.predict_proba(self.clean)
            self._clean_scores[fitted_on.hash] = scores(probs, self.clean.labels, self.scored)
        return self._clean_scores[fitted_on.hash]

    @property
    def perturbation_settings(self) -> Fields:
        """The catalogue's for the dataset, and what the cell changes."""
        return {**self.clean.protocol.get(self.cell.perturbation, {}), **self.cell.perturbation_settings}


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and its seconds."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def link_quality(genuine: np.ndarray, hostile: np.ndarray) -> dict[str, float]:
    """The area under the curve of hostile links ranked by their probability, and the calibration error of these."""
    ranked = roc_auc(1 - genuine, hostile)
    both = np.stack([genuine, 1 - genuine], axis=1)
    error = expected_calibration_error(both, hostile.astype(np.int64))
    return {"auc": ranked, "ece": error, "links": float(len(hostile)), "hostile": float(hostile.sum())}


def scores(probs: np.ndarray, labels: np.ndarray, nodes: np.ndarray) -> Scores:
    """What the metrics say of some nodes; test labels are read here, and by maps for the colours and the separation."""
    theirs, truth = probs[nodes], labels[nodes]
    return Scores(
        accuracy=round(accuracy(theirs, truth), 5),
        entropy=round(normalised_entropy(theirs), 5),
        ece=round(expected_calibration_error(theirs, truth), 5),
        brier=round(brier_score(theirs, truth), 5),
        nodes=len(nodes),
    )
