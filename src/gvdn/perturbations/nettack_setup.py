"""Everything about a Nettack that is settled before the first flip: who, towards what, within which rules."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations.family import share
from gvdn.perturbations.feature_flips import AS_SEEN, FLIPS
from gvdn.perturbations.linearised import LinearisedGCN
from gvdn.perturbations.nettack_greedy import Flips, Goal, Greedy
from gvdn.perturbations.receipt import Setting, no_positions
from gvdn.perturbations.surrogate import weights_hash, weights_of
from gvdn.perturbations.unnoticeable import Cooccurrence, DegreeTest
from gvdn.seeds import generator


@dataclass(frozen=True)
class Rules:
    """The settings of `nettack` that bind every victim alike."""

    link_flips: int
    feature_flips: int
    influencers: int
    target: int | float | None
    labels: bool
    flip: str
    degree_test: bool
    cooccurrence: bool
    spare_last_links: bool

    def check(self, graph: Graph) -> None:
        """Raise where the budget is no number of flips that one victim of this graph could suffer."""
        FLIPS.canonical(self.flip)
        through = self.influencers or 1
        others = graph.num_nodes - (2 if self.influencers else 1)
        if self.influencers < 0:
            raise InvalidInput(f"expected influencers from 0 (direct) up, got {self.influencers}")
        for name, flips, most in (
            ("link_flips", self.link_flips, through * max(others, 0)),
            ("feature_flips", self.feature_flips, through * graph.num_features),
        ):
            if not 0 <= flips <= most:
                raise InvalidInput(
                    f"expected {name} from 0 to {most}, all that one victim of {graph.name} has, got {flips}; "
                    "lower the budget"
                )
        if not self.link_flips + self.feature_flips:
            raise InvalidInput("expected at least one flip, got link_flips=0 and feature_flips=0; raise one of them")

    def search(self, graph: Graph) -> Greedy:
        """The search under these rules on this graph."""
        on_features = self.feature_flips > 0
        return Greedy(
            self.link_flips,
            self.feature_flips,
            self.influencers,
            self.spare_last_links,
            FLIPS[self.flip](graph.features) if on_features else AS_SEEN,
            DegreeTest(graph.degrees) if self.degree_test else None,
            Cooccurrence(graph) if self.cooccurrence and on_features else None,
        )


class Campaign:
    """A surrogate on the clean graph, the search, the victims and the goal for each of them."""

    def __init__(self, graph: Graph, surrogate: object, victims: Positions, rules: Rules) -> None:
        W = weights_of(surrogate, graph)
        rules.check(graph)
        self.rules, self.victims, self.search = rules, victims, rules.search(graph)
        self.model = LinearisedGCN(graph, W)
        self.goals = [_goal(self.model, victim, rules) for victim in victims.tolist()]
        self.facts: dict[str, Setting] = {"surrogate": weights_hash(W)}

    def owner(self) -> dict[str, Any]:
        """All that the flips depend on."""
        about = {"graph": self.model.clean.hash, "victims": self.victims.tolist()}
        return about | asdict(self.rules) | self.facts

    def perturbators(self, done: list[Flips]) -> Positions:
        """The influencers; a direct attack has none."""
        ends = [end for one in done for end in one.ends] if self.rules.influencers else []
        return np.unique(np.array(ends, dtype=np.int64)) if ends else no_positions()


def choose_victims(
    graph: Graph, candidates: Positions, given: Any, seed: int, victim_fraction: float, max_degree: int
) -> Positions:
    """The given victims, or some of the candidates with 1 to max_degree - 1 neighbours; in ascending order."""
    if given is not None:
        return _located(graph, given)
    degrees = graph.degrees[candidates]
    eligible = candidates[(degrees > 0) & (degrees < max_degree)]
    if not eligible.size:
        raise InvalidInput(
            f"expected a candidate of {graph.name} with more than 0 and fewer than {max_degree} neighbours, got none; "
            "raise max_degree or name the victims"
        )
    number = max(1, share(len(candidates), victim_fraction, "victim_fraction"))
    return np.sort(generator(seed, "perturb", "nettack", graph.name).permutation(eligible)[:number])


def _located(graph: Graph, given: Any) -> Positions:
    """Positions of victims given as positions, or as ids in text."""
    victims = np.asarray(given)
    if victims.ndim != 1 or not victims.size or victims.dtype.kind not in "iuUO":
        raise InvalidInput(f"expected victims as a list of positions or of ids in text, got {given!r}")
    if victims.dtype.kind in "iu":
        strange = victims[(victims < 0) | (victims >= graph.num_nodes)]
        places = victims
    else:
        places = graph.locate(victims.astype(np.str_))
        strange = victims[places < 0]
    if strange.size:
        raise InvalidInput(f"expected victims among the {graph.num_nodes} nodes of {graph.name}, got {strange[0]!s}")
    return np.unique(places.astype(np.int64))


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
