"""The greedy search for the flips that move one victim's margin most (Zügner et al. 2018, Algorithm 1)."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from gvdn.graph import Graph, Positions
from gvdn.perturbations.nettack.feature_flips import AS_SEEN, FLIPS
from gvdn.perturbations.nettack.linearised import LinearisedGCN
from gvdn.perturbations.nettack.unnoticeable import Cooccurrence, DegreeTest

TIE = 1e-10
"""Scores closer than this share of the largest count as equal, so that rounding does not decide between them."""


class Goal(NamedTuple):
    """The class whose margin the attack moves: the old class down (-1), or a target class up (+1)."""

    label: int
    direction: int

    def score(self, logits: Float64[np.ndarray, "*all K"]) -> Float64[np.ndarray, "*all"]:
        """direction x (the label's logit - the best other logit); the attack maximises it."""
        others = logits.copy()
        others[..., self.label] = -np.inf
        return self.direction * (logits[..., self.label] - others.max(axis=-1))


@dataclass
class Flips:
    """What was flipped for one victim, in order: links as (end, other node), features as (node, column)."""

    victim: int
    ends: list[int]
    links: list[tuple[int, int]] = field(default_factory=list)
    features: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Rules:
    """The settings of `nettack` that are the same for every victim; its docstring explains them."""

    link_flips: int
    feature_flips: int
    influencers: int
    target: int | float | None
    labels: bool
    flip: str
    degree_test: bool
    cooccurrence: bool
    spare_last_links: bool


class Greedy:
    """The search for the best flips: links first, fewer than asked for where no admissible one is left."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        on_features = rules.feature_flips > 0
        self.rules = rules
        self.flip = FLIPS[rules.flip](graph.features) if on_features else AS_SEEN
        self.degree_test = DegreeTest(graph.degrees) if rules.degree_test else None
        self.words = Cooccurrence(graph) if rules.cooccurrence and on_features else None

    def attack(self, model: LinearisedGCN, victim: int, goal: Goal) -> Flips:
        """Flip in the model what moves the victim's margin most, one flip after another; return the flips."""
        done = Flips(victim, self._ends(model, victim, goal))
        for _ in range(self.rules.link_flips):
            link = self._best_link(model, done, goal)
            if link is None:
                break
            model.flip_link(*link)
            done.links.append(link)
        if self.rules.feature_flips:
            self._attack_features(model, done, goal)
        return done

    def repeat(self, model: LinearisedGCN, done: Flips) -> None:
        """Make the flips of an earlier search again."""
        for link in done.links:
            model.flip_link(*link)
        for node, column in done.features:
            model.set_row(node, self.flip.row(model.row(node), column))

    def _ends(self, model: LinearisedGCN, victim: int, goal: Goal) -> list[int]:
        """The victim itself, or the n neighbours whose removal would move its margin most."""
        if not self.rules.influencers:
            return [victim]
        near = model.neighbours[victim]
        scores = goal.score(model.link_logits(victim, victim, near))
        return sorted(near[np.argsort(-scores, kind="stable")[: self.rules.influencers]].tolist())

    def _best_link(self, model: LinearisedGCN, done: Flips, goal: Goal) -> tuple[int, int] | None:
        others = [self._others(model, done, end) for end in done.ends]
        logits = [model.link_logits(done.victim, end, nodes) for end, nodes in zip(done.ends, others, strict=True)]
        best = _first_best(goal, logits)
        return None if best is None else (done.ends[best[0]], int(others[best[0]][best[1]]))

    def _others(self, model: LinearisedGCN, done: Flips, end: int) -> Positions:
        """The nodes whose link to this end may be flipped."""
        steps, allowed = model.steps(end), np.ones(len(model.degrees), dtype=bool)
        allowed[[end, done.victim]] = False
        allowed[[a if b == end else b for a, b in done.links if end in (a, b)]] = False  # no flip is taken back
        if self.rules.spare_last_links:
            allowed &= (steps > 0) | (np.minimum(model.degrees, model.degrees[end]) > 1)
        if self.degree_test:
            allowed &= self.degree_test.admits(model.degrees, end, steps)
        return np.flatnonzero(allowed)

    def _attack_features(self, model: LinearisedGCN, done: Flips, goal: Goal) -> None:
        rows = [model.row(end) for end in done.ends]
        every = np.arange(len(model.W))
        columns = [np.flatnonzero(self.words.admits(end)) if self.words else every for end in done.ends]
        shares, now = model.influence(done.victim, done.ends), model.logits(done.victim)
        for _ in range(self.rules.feature_flips):
            logits = [
                now + share * self.flip.changes(row, model.W, some)
                for share, row, some in zip(shares, rows, columns, strict=True)
            ]
            best = _first_best(goal, logits)
            if best is None:
                break
            which, index = best
            column = int(columns[which][index])
            done.features.append((done.ends[which], column))
            now, rows[which] = logits[which][index], self.flip.row(rows[which], column)
            columns[which] = np.delete(columns[which], index)  # no flip is taken back
        for end in {end for end, _ in done.features}:
            model.set_row(end, rows[done.ends.index(end)])


def _first_best(goal: Goal, logits: list[Float64[np.ndarray, "_ K"]]) -> tuple[int, int] | None:
    """The list that holds the highest score and its index there: the first of equals, None where all are empty."""
    stops = np.cumsum([0] + [len(some) for some in logits])
    if not stops[-1]:
        return None
    scores = goal.score(np.concatenate(logits))
    best = int(np.argmax(scores >= scores.max() - TIE * np.abs(scores).max()))
    which = int(np.searchsorted(stops, best, side="right")) - 1
    return which, best - int(stops[which])
