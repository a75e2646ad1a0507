"""What the plain supervised methods share: cross entropy on the training nodes, chosen by validation accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.nn.losses import cross_entropy


@dataclass
class Supervised:
    """The task of the training loop for a network that only learns from labels.

    Attributes:
        fit_pass: one training pass: logits and any further loss terms.
        score_pass: one inference pass: logits.
    """

    network: nn.Module
    fit_pass: Callable[[], tuple[Tensor, dict[str, Tensor]]]
    score_pass: Callable[[], Tensor]
    train: Tensor
    val: Tensor
    labels: Tensor

    @classmethod
    def on(
        cls,
        graph: Graph,
        split: Split,
        device: torch.device,
        network: nn.Module,
        fit_pass: Callable[[], tuple[Tensor, dict[str, Tensor]]],
        score_pass: Callable[[], Tensor],
    ) -> Supervised:
        train, val = (torch.from_numpy(part.copy()).to(device) for part in (split.train, split.val))
        return cls(network, fit_pass, score_pass, train, val, torch.from_numpy(graph.labels.copy()).to(device))

    def losses(self, epoch: int) -> dict[str, Tensor]:
        logits, others = self.fit_pass()
        return {"ce": cross_entropy(logits[self.train], self.labels[self.train])} | others

    def carried(self) -> dict[str, Tensor]:
        return {}

    def carry(self, state: dict[str, Tensor]) -> None:
        """Nothing goes from one epoch to the next but the weights."""

    @torch.no_grad()
    def score(self) -> float | None:
        if not len(self.val):
            return None
        logits = self.score_pass()
        return float((logits[self.val].argmax(dim=1) == self.labels[self.val]).float().mean())


def require_trainable(graph: Graph, split: Split) -> None:
    """Raise unless there are features, and labels of at least two classes, to learn from."""
    if graph.num_features == 0:
        raise InvalidInput(f"the graph {graph.name} has no features; give its nodes at least one feature column")
    farthest = max((int(part.max()) for part in (split.train, split.val, split.test) if len(part)), default=0)
    if farthest >= graph.num_nodes:
        raise InvalidInput(
            f"the split speaks of node {farthest}, but {graph.name} has {graph.num_nodes}; split it anew"
        )
    taught = graph.labels[split.train]
    if (taught < 0).any():
        node = graph.ids[split.train][taught < 0][0]
        raise InvalidInput(f"the training node {node} has no label; leave it out of the split")
    if len(np.unique(taught)) < 2:
        raise InvalidInput(
            f"expected training nodes of at least two classes, got only {graph.class_names[taught[0]]!r} in "
            f"{graph.name}; give more training nodes"
        )


def require_fitted(model: object, graph: Graph) -> None:
    """Raise unless the model has learned something, and from as many features as the graph has."""
    expected = getattr(model, "features_", None)
    if expected is None:
        name = type(model).__name__
        raise InvalidInput(f"this {name} is not fitted yet; call fit(graph, split, seed=...) or load a saved one")
    named = getattr(model, "feature_names_", ())
    for place, (fitted, given) in enumerate(zip(named, graph.feature_names, strict=False)):
        if fitted != given and len(named) == graph.num_features:
            raise InvalidInput(
                f"feature column {place + 1} was {fitted!r} when the model was fitted, got {given!r} in {graph.name}; "
                "give the same columns in the same order"
            )
    if graph.num_features != expected:
        raise InvalidInput(
            f"the model was fitted on {expected} features, got {graph.num_features} in {graph.name}; "
            "give the same columns in the same order"
        )


def probabilities(logits: Tensor) -> np.ndarray:
    """Softmax in double precision, on the CPU."""
    return logits.detach().double().softmax(dim=1).cpu().numpy()
