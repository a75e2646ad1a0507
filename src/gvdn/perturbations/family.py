"""The registry of perturbations, `perturb`, which calls them by name, and the choice of victims."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Positions, PositionsLike, Split, as_graph, as_split
from gvdn.graph.checks import positions
from gvdn.graph.edges import sorted_once
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations.receipt import Changes, Perturbed, Receipt, Setting, no_positions
from gvdn.registry import Registry
from gvdn.seeds import Seed, generator, whole_seed
from gvdn.settings import checked_settings

Part = Literal["train", "test"]
Progress = Callable[[int, int], None]
"""Called with the number of steps done, and of all; a step is a victim, or a gradient of an attack by gradients."""


@dataclass(frozen=True)
class Plan:
    """What a perturbation decided to change; `facts` is what the receipt records about its inputs."""

    changes: Changes
    victims: Positions
    perturbators: Positions = field(default_factory=no_positions)
    facts: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Perturbation:
    """A member of the registry: a planning function, and the part of a split that its candidates come from.

    The keyword arguments of the function are the settings. `inputs` names those that are more than a word or a number
    (a surrogate, a list of victims): they are handed on as they are, and the receipt holds the plan's facts about them.
    The input `train`, the nodes whose labels an attacker knows, is taken from a split unless it is given. `protocol`
    is the perturbation whose settings of the catalogue count for this one too, where that is another.
    """

    name: str
    plan: Callable[..., Plan]
    candidates_from: Part = "test"
    inputs: tuple[str, ...] = ()
    protocol: str = ""

    @property
    def summary(self) -> str:
        """The first line of the planning function's docstring."""
        return (inspect.getdoc(self.plan) or "").splitlines()[0]

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting with its default, read off the signature."""
        named = inspect.signature(self.plan).parameters.values()
        others = {"seed", *self.inputs}
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY and p.name not in others}

    def __call__(self, graph: Graph, candidates: PositionsLike, *, seed: Seed, **given: Any) -> Perturbed:
        """Perturb the graph; victims are drawn from the candidates."""
        seed = whole_seed(seed)
        settings, inputs = self.sort_out(graph, given)
        plan = self.plan(graph, checked_candidates(candidates, graph), seed=seed, **settings, **inputs)
        return Perturbed(plan.changes.apply(graph), self.receipt(graph, plan, seed, settings))

    def sort_out(self, graph: Graph, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """All settings (as given, else of the graph's protocol, else the defaults), and the inputs that were given."""
        inputs = {name: given[name] for name in self.inputs if name in given}
        settings = {name: value for name, value in given.items() if name not in inputs}
        known = self.settings | dict.fromkeys(self.inputs)
        chosen = dict(graph.protocol.get(self.protocol or self.name, {})) | settings
        return self.settings | checked_settings(self.name, chosen, known), inputs

    def receipt(self, graph: Graph, plan: Plan, seed: int, settings: dict[str, Setting]) -> Receipt:
        """The receipt of a plan for this graph."""
        used = settings | plan.facts
        return Receipt(self.name, used, seed, graph.name, graph.hash, plan.changes, plan.victims, plan.perturbators)


def _require_perturbation(name: str, member: Any) -> Perturbation:
    if not isinstance(member, Perturbation):
        got = f"{type(member).__name__}; build one with gvdn.perturbations.Perturbation(name, plan)"
        raise InvalidInput(f"expected a Perturbation behind the entry point {name!r} of gvdn.perturbations, got {got}")
    return member


PERTURBATIONS: Registry[Perturbation] = Registry(
    "perturbation", entry_point_group="gvdn.perturbations", check=_require_perturbation
)
"""Every perturbation by its name; installed packages add more through the entry points `gvdn.perturbations`."""


def perturbation(
    name: str,
    *,
    candidates_from: Part = "test",
    aliases: tuple[str, ...] = (),
    inputs: tuple[str, ...] = (),
    protocol: str = "",
) -> Callable[[Callable[..., Plan]], Perturbation]:
    """Decorator: register a planning function, which has a file of its own, under this name."""

    def put(plan: Callable[..., Plan]) -> Perturbation:
        member = Perturbation(name, plan, candidates_from, inputs, protocol)
        PERTURBATIONS.add(name, member, aliases=aliases)
        return member

    return put


def perturb(
    graph: GraphLike, kind: str, where: Split | PositionsLike | None = None, *, seed: Seed, **given: Any
) -> Perturbed:
    """Perturb a graph with the perturbation of this name and return the new graph with its receipt.

    Args:
        graph: a Graph, a torch-geometric `Data` or a NetworkX graph; it is not changed.
        kind: a name of `gvdn.PERTURBATIONS`.
        where: a split, whose test nodes (training nodes for label-noise) are the candidates, or the positions of the
            candidates; may be left out for a `Data` with masks.
        seed: a whole number; the same seed gives the same graph.
        given: settings of the perturbation, and inputs such as nettack's `surrogate`. A setting that is not given is
            that of the catalogue for a graph of the catalogue (`graph.protocol`), else the default.

    >>> import gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> split = gvdn.random_split(graph, seed=0)
    >>> gvdn.perturb(graph, "random-connections", split, seed=0, victim_fraction=0.2)
    Perturbed('debian' by random-connections, seed 0: 673 victims, 7 perturbators, edges +700 -0)
    """
    member, checked = PERTURBATIONS[kind], as_graph(graph)
    chosen = as_split(where, graph) if where is None else where
    candidates = getattr(chosen, member.candidates_from) if isinstance(chosen, Split) else chosen
    if "train" in member.inputs and isinstance(chosen, Split):
        given = {"train": chosen.train} | given
    return member(checked, candidates, seed=seed, **given)


def flips_allowed(graph: Graph, edge_fraction: float) -> int:
    """The number of links that this share of the graph's edges is, at least one."""
    if edge_fraction == 0:
        raise InvalidInput("expected edge_fraction above 0, got 0; give the share of the edges that may be flipped")
    return max(1, share(graph.num_edges, edge_fraction, "edge_fraction"))


def share(count: int, fraction: float, what: str) -> int:
    """The nearest whole number to a fraction of a count (halves up)."""
    if not 0 <= fraction <= 1:
        raise InvalidInput(f"expected {what} between 0 and 1, got {fraction}")
    return int(np.floor(count * fraction + 0.5))


def checked_candidates(candidates: object, graph: Graph) -> Positions:
    """The candidates in ascending order, each once; positions outside of the graph are refused."""
    unique = sorted_once(positions("candidates", candidates))
    if not unique.size:
        raise InvalidInput(f"expected at least one candidate node of {graph.name} to perturb, got none")
    if unique[-1] >= graph.num_nodes:
        raise InvalidInput(f"expected candidates among the {graph.num_nodes} nodes, got position {unique[-1]}")
    return unique


def choose_victims(
    graph: Graph, candidates: Positions, given: Any, seed: int, victim_fraction: float, max_degree: int
) -> Positions:
    """The given victims, or some of the candidates with 1 to max_degree - 1 neighbours; in ascending order."""
    if given is not None:
        return _located(graph, given)
    degrees = graph.degrees[candidates]
    eligible = candidates[(degrees > 0) & (degrees < max_degree)]
    if not eligible.size:
        wanted = f"a candidate of {graph.name} with more than 0 and fewer than {max_degree} neighbours"
        raise InvalidInput(f"expected {wanted}, got none; raise max_degree or name the victims")
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    return np.sort(_victims_generator(seed, graph).permutation(eligible)[:number])


def labelled_victims(graph: Graph, candidates: Positions, seed: int, victim_fraction: float) -> Positions:
    """Some of the labelled candidates, in ascending order; the same for every perturbation that asks with a seed.

    Where all candidates are labelled, they are the victims that prbcd draws too: nodes without a neighbour, which it
    passes over, are drawn after all others.
    """
    labelled = candidates[graph.labels[candidates] != UNLABELLED]
    if not labelled.size:
        raise InvalidInput(f"expected a labelled candidate of {graph.name} as victim, got none; label some nodes")
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    rng, linked = _victims_generator(seed, graph), graph.degrees[labelled] > 0
    return np.sort(np.concatenate([rng.permutation(labelled[linked]), rng.permutation(labelled[~linked])])[:number])


def _victims_generator(seed: int, graph: Graph) -> np.random.Generator:
    """One purpose for all perturbations that attack given nodes; it has the name of the first of them."""
    return generator(seed, "perturb", "nettack", graph.name)


def _located(graph: Graph, given: Any) -> Positions:
    """Positions of victims given as positions, or as ids in text."""
    victims = np.asarray(given)
    if victims.ndim != 1 or not victims.size or victims.dtype.kind not in "iuUO":
        raise InvalidInput(f"expected victims as a list of positions or of ids in text, got {given!r}")
    if victims.dtype.kind in "iu":
        unknown, found = victims[(victims < 0) | (victims >= graph.num_nodes)], victims
    else:
        found = graph.locate(victims.astype(np.str_))
        unknown = victims[found < 0]
    if unknown.size:
        raise InvalidInput(f"expected victims among the {graph.num_nodes} nodes of {graph.name}, got {unknown[0]!s}")
    return np.unique(found.astype(np.int64))
