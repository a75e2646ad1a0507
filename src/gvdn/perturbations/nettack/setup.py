"""What is decided before the first flip: the surrogate, which is a linearised GCN, and the goal for each victim."""

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations.nettack.feature_flips import FLIPS
from gvdn.perturbations.nettack.greedy import Goal, Greedy, Rules
from gvdn.perturbations.nettack.linearised import LinearisedGCN
from gvdn.perturbations.receipt import Setting

TRY = "give surrogate=(W1, W2), the two weight matrices of a linearised GCN"


@runtime_checkable
class Surrogate(Protocol):
    """A two-layer GCN without its non-linearity: logits = Â² X W (Zügner et al. 2018, section 5)."""

    @property
    def W(self) -> np.ndarray:
        """W = W_1 W_2, one row per feature and one column per class."""


@dataclass(frozen=True, eq=False)
class LinearSurrogate:
    """A surrogate that consists of W alone."""

    W: Float[np.ndarray, "d K"]


class Setup:
    """The surrogate on the graph to attack, the search, the victims and the goal for each of them."""

    def __init__(self, graph: Graph, surrogate: object, victims: Positions, rules: Rules) -> None:
        W = _weights(surrogate, graph)
        _check_budget(rules, graph)
        self.rules, self.victims, self.search = rules, victims, Greedy(graph, rules)
        self.model = LinearisedGCN(graph, W)
        self.goals = [_goal(self.model, victim, rules) for victim in victims.tolist()]
        content = repr(W.shape).encode() + W.astype("<f8").tobytes()
        self.facts: dict[str, Setting] = {"surrogate": hashlib.sha256(content).hexdigest()}


def _weights(surrogate: object, graph: Graph) -> Float64[np.ndarray, "d K"]:
    """W in double precision, of a surrogate or of two matrices; its shape is checked against the graph."""
    if isinstance(surrogate, Surrogate):
        W = _matrix(surrogate.W)
    elif isinstance(surrogate, tuple | list) and len(surrogate) == 2:
        W_1, W_2 = map(_matrix, surrogate)
        if W_1.shape[1] != W_2.shape[0]:
            raise InvalidInput(f"expected two weight matrices to multiply, got {W_1.shape} and {W_2.shape}; {TRY}")
        W = W_1 @ W_2
    else:
        raise InvalidInput(f"expected a surrogate for nettack, got {_kind(surrogate)}; {TRY}")
    classes = graph.num_classes or W.shape[1]
    if W.shape != (graph.num_features, classes):
        wanted = f"{graph.num_features} features x {classes} classes for {graph.name}"
        got = f"{W.shape[0]} x {W.shape[1]}; train the surrogate on this graph"
        raise InvalidInput(f"expected surrogate weights of {wanted}, got {got}")
    if classes < 2:
        raise InvalidInput(f"expected a surrogate of at least two classes, got {classes}; there is nothing to confuse")
    if not np.isfinite(W).all():
        raise InvalidInput("expected finite surrogate weights, got NaN or infinity; train the surrogate again")
    return W


def _matrix(weights: Any) -> Float64[np.ndarray, "rows columns"]:
    try:
        matrix = np.array(weights, dtype=np.float64, order="C")
    except (TypeError, ValueError, RuntimeError) as problem:
        raise InvalidInput(f"expected weights as a matrix of numbers, got {_kind(weights)}; {TRY}") from problem
    if matrix.ndim != 2:
        raise InvalidInput(f"expected weights as a matrix, got an array of shape {matrix.shape}; {TRY}")
    return matrix


def _kind(thing: object) -> str:
    return "none" if thing is None else type(thing).__name__


def _check_budget(rules: Rules, graph: Graph) -> None:
    """Raise where the budget exceeds the flips that are possible for one victim of this graph."""
    flip = FLIPS[rules.flip]
    if rules.feature_flips > 0:
        flip(graph.features)  # refuses features that cannot be flipped
    through, others = rules.influencers or 1, graph.num_nodes - (2 if rules.influencers else 1)
    if rules.influencers < 0:
        raise InvalidInput(f"expected influencers from 0 (direct) up, got {rules.influencers}")
    for what, flips, most in (
        ("link", rules.link_flips, through * max(others, 0)),
        ("feature", rules.feature_flips, through * graph.num_features),
    ):
        if not 0 <= flips <= most:
            wanted = f"{what}_flips from 0 to {most}, the {what}s that can be flipped for one victim of {graph.name}"
            raise InvalidInput(f"expected {wanted}, got {flips}; give {what}_flips={most} or less, 0 for none")
    if not rules.link_flips + rules.feature_flips:
        raise InvalidInput("expected at least one flip, got link_flips=0 and feature_flips=0; raise one of them")


def _goal(model: LinearisedGCN, victim: int, rules: Rules) -> Goal:
    classes = model.W.shape[1]
    if rules.target is not None:
        if rules.target not in range(classes):
            raise InvalidInput(f"expected a class from 0 to {classes - 1} as target, got {rules.target}")
        return Goal(int(rules.target), +1)
    if not rules.labels:
        return Goal(int(np.argmax(model.logits(victim))), -1)
    label = int(model.clean.labels[victim])
    if label == UNLABELLED:
        raise InvalidInput(f"expected labelled victims to attack by label, got none on node {victim}; set labels=False")
    return Goal(label, -1)
