"""The table of perturbations and the one function that calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions, Split
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt, Setting
from gvdn.registry import Registry
from gvdn.settings import checked_settings


@dataclass(frozen=True)
class Plan:
    """What a perturbation decided, before anything is applied."""

    changes: Changes
    victims: Positions
    perturbators: Positions


@dataclass(frozen=True)
class Perturbation:
    """A member of the family: a function that plans, and the part of a split it is aimed at."""

    name: str
    plan: Callable[..., Plan]
    aimed_at: Literal["train", "test"]

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.plan) or "").splitlines()[0]

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting with its default, read off the signature."""
        named = inspect.signature(self.plan).parameters.values()
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY and p.name != "seed"}

    def __call__(self, graph: Graph, candidates: Positions, *, seed: int, **settings: Setting) -> Perturbed:
        """Perturb the graph; victims are drawn from the candidates."""
        full = self.settings | checked_settings(self.name, settings, self.settings)
        plan = self.plan(graph, _checked(candidates, graph), seed=seed, **full)
        receipt = Receipt(self.name, full, seed, graph.name, graph.hash, plan.changes, plan.victims, plan.perturbators)
        return Perturbed(plan.changes.apply(graph), receipt)


PERTURBATIONS: Registry[Perturbation] = Registry("perturbation")


def perturbation(
    name: str, *, aimed_at: Literal["train", "test"], aliases: tuple[str, ...] = ()
) -> Callable[[Callable[..., Plan]], Perturbation]:
    """Decorator: a planning function becomes a member of the family."""

    def put(plan: Callable[..., Plan]) -> Perturbation:
        member = Perturbation(name, plan, aimed_at)
        PERTURBATIONS.add(name, member, aliases=aliases)
        return member

    return put


def perturb(graph: Graph, kind: str, where: Split | Positions, *, seed: int, **settings: Setting) -> Perturbed:
    """The graph perturbed by the named kind; `where` is a split (its test or train part) or candidate positions."""
    member = PERTURBATIONS[kind]
    candidates = getattr(where, member.aimed_at) if isinstance(where, Split) else where
    return member(graph, candidates, seed=seed, **settings)


def share(count: int, fraction: float, what: str) -> int:
    """The nearest whole number to a fraction of a count (halves up)."""
    if not 0 <= fraction <= 1:
        raise InvalidInput(f"expected {what} between 0 and 1, got {fraction}")
    return int(np.floor(count * fraction + 0.5))


def _checked(candidates: Positions, graph: Graph) -> Positions:
    unique = np.unique(np.asarray(candidates, dtype=np.int64))
    if not unique.size:
        raise InvalidInput(f"expected at least one candidate node of {graph.name} to perturb, got none")
    if unique[0] < 0 or unique[-1] >= graph.num_nodes:
        strange = unique[0] if unique[0] < 0 else unique[-1]
        raise InvalidInput(f"expected candidates among the {graph.num_nodes} nodes, got position {strange}")
    return unique
