"""The table of perturbations and the one function that calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions, Split
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt, Setting
from gvdn.registry import Registry
from gvdn.settings import checked_settings


@dataclass(frozen=True)
class Plan:
    """What a perturbation decided, before anything is applied; `facts` is what the receipt says of its inputs."""

    changes: Changes
    victims: Positions
    perturbators: Positions
    facts: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Perturbation:
    """A member of the family: a function that plans, and the part of a split it is aimed at.

    `inputs` are the arguments that are more than a word or a number (a surrogate, a list of victims): they are handed
    on as they are, and the receipt says of them what the plan's facts say.
    """

    name: str
    plan: Callable[..., Plan]
    aimed_at: Literal["train", "test"]
    inputs: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.plan) or "").splitlines()[0]

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting with its default, read off the signature."""
        named = inspect.signature(self.plan).parameters.values()
        others = {"seed", *self.inputs}
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY and p.name not in others}

    def __call__(self, graph: Graph, candidates: Positions, *, seed: int, **given: Any) -> Perturbed:
        """Perturb the graph; victims are drawn from the candidates."""
        settings, inputs = self.sort_out(given)
        plan = self.plan(graph, checked_candidates(candidates, graph), seed=seed, **settings, **inputs)
        receipt = self.receipt(graph, plan, seed, settings)
        return Perturbed(plan.changes.apply(graph), receipt)

    def sort_out(self, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """All settings, the given ones checked; and the inputs among what was given."""
        inputs = {name: given[name] for name in self.inputs if name in given}
        settings = {name: value for name, value in given.items() if name not in inputs}
        known = self.settings | dict.fromkeys(self.inputs)
        return self.settings | checked_settings(self.name, settings, known), inputs

    def receipt(self, graph: Graph, plan: Plan, seed: int, settings: dict[str, Setting]) -> Receipt:
        """What was planned for this graph, and how."""
        said = settings | plan.facts
        return Receipt(self.name, said, seed, graph.name, graph.hash, plan.changes, plan.victims, plan.perturbators)


PERTURBATIONS: Registry[Perturbation] = Registry("perturbation")


def perturbation(
    name: str, *, aimed_at: Literal["train", "test"], aliases: tuple[str, ...] = (), inputs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Plan]], Perturbation]:
    """Decorator: a planning function becomes a member of the family."""

    def put(plan: Callable[..., Plan]) -> Perturbation:
        member = Perturbation(name, plan, aimed_at, inputs)
        PERTURBATIONS.add(name, member, aliases=aliases)
        return member

    return put


def perturb(graph: Graph, kind: str, where: Split | Positions, *, seed: int, **given: Any) -> Perturbed:
    """The graph perturbed by the named kind; `where` is a split (its test or train part) or candidate positions.

    What else is given are settings of the kind, and what it needs besides, such as nettack's surrogate.
    """
    member = PERTURBATIONS[kind]
    candidates = getattr(where, member.aimed_at) if isinstance(where, Split) else where
    return member(graph, candidates, seed=seed, **given)


def share(count: int, fraction: float, what: str) -> int:
    """The nearest whole number to a fraction of a count (halves up)."""
    if not 0 <= fraction <= 1:
        raise InvalidInput(f"expected {what} between 0 and 1, got {fraction}")
    return int(np.floor(count * fraction + 0.5))


def checked_candidates(candidates: Positions, graph: Graph) -> Positions:
    """The candidates in ascending order, each once; nodes that do not exist are refused."""
    unique = np.unique(np.asarray(candidates, dtype=np.int64))
    if not unique.size:
        raise InvalidInput(f"expected at least one candidate node of {graph.name} to perturb, got none")
    if unique[0] < 0 or unique[-1] >= graph.num_nodes:
        strange = unique[0] if unique[0] < 0 else unique[-1]
        raise InvalidInput(f"expected candidates among the {graph.num_nodes} nodes, got position {strange}")
    return unique
