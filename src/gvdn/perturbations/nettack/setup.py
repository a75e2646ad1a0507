"""What is decided before the first flip: the surrogate, the rules, and the goal for each victim."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import UNLABELLED
from gvdn.perturbations.nettack.feature_flips import AS_SEEN, FLIPS
from gvdn.perturbations.nettack.greedy import Flips, Goal, Greedy
from gvdn.perturbations.nettack.linearised import LinearisedGCN
from gvdn.perturbations.nettack.surrogate import weights_hash, weights_of
from gvdn.perturbations.nettack.unnoticeable import Cooccurrence, DegreeTest
from gvdn.perturbations.receipt import Setting, no_positions


@dataclass(frozen=True)
class Rules:
    """The settings of `nettack` that are the same for every victim."""

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
        """Raise where the budget exceeds the flips that are possible for one victim of this graph."""
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
                    f"expected {name} from 0 to {most}, all there are for one victim of {graph.name}, got {flips}; "
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


class Setup:
    """The surrogate on the graph to attack, the search, the victims and the goal for each of them."""

    def __init__(self, graph: Graph, surrogate: object, victims: Positions, rules: Rules) -> None:
        W = weights_of(surrogate, graph)
        rules.check(graph)
        self.rules, self.victims, self.search = rules, victims, rules.search(graph)
        self.model = LinearisedGCN(graph, W)
        self.goals = [_goal(self.model, victim, rules) for victim in victims.tolist()]
        self.facts: dict[str, Setting] = {"surrogate": weights_hash(W)}

    def owner(self) -> dict[str, Any]:
        """Everything the flips depend on, for the checkpoint."""
        about = {"graph": self.model.clean.hash, "victims": self.victims.tolist()}
        return about | asdict(self.rules) | self.facts

    def perturbators(self, done: list[Flips]) -> Positions:
        """The influencers; a direct attack has none."""
        ends = [end for one in done for end in one.ends] if self.rules.influencers else []
        return np.unique(np.array(ends, dtype=np.int64)) if ends else no_positions()


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
