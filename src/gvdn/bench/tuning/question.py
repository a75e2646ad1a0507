"""What a trial is asked: the graph, the nodes that it is fitted on, and the validation nodes that it is scored on."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions, Split, has_structural_features, with_structural_features
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations import Perturbed, perturb
from gvdn.registry import did_you_mean
from gvdn.study import Mode
from gvdn.training.selection import Score, require_selection, score_of

NONE = "none"
SHARE = 0.25
"""The share of the validation nodes that are victims."""
PERTURBATIONS: Mapping[str, Mapping[str, Any]] = {
    "wrong-links": {"links": 4, "victim_fraction": SHARE},
    "random-connections": {"rate": 0.02, "victim_fraction": SHARE},
}
"""The perturbations that settings may be chosen under, with strengths that no table reports."""
MODES = (Mode.NEW, Mode.EVASION, Mode.POISONING)
SMALLEST = 1e-12
"""The smallest probability that a loss is computed with."""


class Answer(NamedTuple):
    """How a fitted method did on the nodes that are scored."""

    score: Score
    clean: float
    """The score on the same nodes of the clean graph, before any recovery."""
    epoch: int
    """The epoch whose weights were taken."""


@dataclass(frozen=True)
class Question:
    """A graph with its split, and how a method is scored on validation nodes. No test label is read.

    Without a perturbation all validation nodes are scored, which also choose the epoch. With one, a quarter of the
    validation nodes are victims. They alone are scored, and neither they nor the perturbators choose the epoch. Methods
    that recover do so before they are asked.

    Attributes:
        perturbation: `none`, or a name of `PERTURBATIONS`.
        mode: of a perturbation: the victims are absent when the method is fitted (`new`), the clean graph is fitted on
            (`evasion`), or the perturbed one (`poisoning`).
        select: the score: accuracy, macro-f1, auc or loss.
    """

    graph: Graph
    split: Split
    seed: int
    perturbation: str = NONE
    mode: Mode = Mode.NEW
    select: str = "accuracy"

    def __post_init__(self) -> None:
        require_selection(self.select)
        if self.perturbation not in (known := [NONE, *PERTURBATIONS]):
            raise InvalidInput(
                f"unknown perturbation {self.perturbation!r} to tune{did_you_mean(self.perturbation, known)}"
            )
        if self.mode not in MODES:
            raise InvalidInput(f"unknown mode {str(self.mode)!r} to tune{did_you_mean(self.mode, list(MODES))}")
        if not len(self.split.val):
            raise InvalidInput(f"expected validation nodes of {self.graph.name} to choose settings on, got none")

    @property
    def is_perturbed(self) -> bool:
        return self.perturbation != NONE

    @cached_property
    def perturbed(self) -> Perturbed:
        """The graph with perturbed validation nodes; the perturber does not know the labels of test nodes either."""
        labels = self.graph.labels.copy()
        labels[self.split.test] = UNLABELLED
        known = dataclasses.replace(self.graph, labels=labels)
        settings = PERTURBATIONS[self.perturbation]
        return perturb(known, self.perturbation, self.split.val, seed=self.seed, **settings)

    @cached_property
    def scored(self) -> Positions:
        """The nodes whose labels score a trial."""
        return self.perturbed.victims if self.is_perturbed else self.split.val

    @cached_property
    def fitted_on(self) -> tuple[Graph, Split]:
        """The graph that a method is fitted on, and the split there."""
        if not self.is_perturbed:
            return self.graph, self.split
        hidden = np.union1d(self.perturbed.victims, self.perturbed.perturbators)
        split = Split(self.split.train, np.setdiff1d(self.split.val, hidden), self.split.test)
        if self.mode is Mode.POISONING:
            return self.perturbed.graph, split
        if self.mode is Mode.EVASION:
            return self.graph, split
        left = self.graph.subgraph(np.delete(np.arange(self.graph.num_nodes), self.perturbed.victims))
        left = with_structural_features(left, left.columns) if has_structural_features(left) else left
        parts = (left.locate(self.graph.ids[part]) for part in (split.train, split.val, split.test))
        return left, Split(*(part[part >= 0] for part in parts))

    def require(self, method: Any) -> None:
        """Raise where the method does not support the mode."""
        can = method.capabilities
        if self.is_perturbed and self.mode is Mode.POISONING and "poisoning" not in can.threat_models:
            supported = ", ".join(can.threat_models)
            raise InvalidInput(f"{method.name} does not support poisoning ({supported}); give another --mode")

    def ask(self, method: Any) -> Answer:
        """Fit the method, let it recover if it can, and score it."""
        graph, split = self.fitted_on
        model = method.fit(graph, split, seed=self.seed)
        before = self._score(model.predict_proba(self.graph))
        epoch = model.outcome_.epoch
        if not self.is_perturbed:
            return Answer(before, before.value, epoch)
        if model.capabilities.recovers:
            told = self.mode is Mode.POISONING and "poisoned" in model.capabilities.recover_options
            model = model.recover(self.perturbed.graph, **({"poisoned": True} if told else {}))
        return Answer(self._score(model.predict_proba(self.perturbed.graph)), before.value, epoch)

    def _score(self, probs: np.ndarray) -> Score:
        logits = torch.from_numpy(np.log(np.maximum(probs[self.scored], SMALLEST)))
        return Score(*score_of(self.select, logits, torch.from_numpy(self.graph.labels[self.scored])).tolist())

    def asked(self) -> dict[str, Any]:
        """What the question depends on, as JSON can hold it."""
        parts = b"".join(part.tobytes() for part in (self.split.train, self.split.val, self.split.test))
        asked = {"graph": self.graph.hash, "split": hashlib.sha256(parts).hexdigest(), "seed": self.seed}
        asked |= {"select": self.select, "perturbation": self.perturbation}
        return asked | ({"mode": str(self.mode), **PERTURBATIONS[self.perturbation]} if self.is_perturbed else {})

    def key(self, method: str, settings: Mapping[str, Any]) -> str:
        """The name of a trial: a hash of the question and of all settings of the method."""
        content = json.dumps([self.asked(), method, dict(settings)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]
