"""First, do no harm: recovery chooses among four ways by the withheld answers that each of them brings back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Positions
from gvdn.schema import Field, Schema
from gvdn.trust.front import Front
from gvdn.trust.model import BINS

FITTED, AS_IT_IS, ALGORITHM_3 = "fitted", "as it is", "Algorithm 3"
TRUST, TRUST_ALONE = "trust", "trust without training"
WAYS = (TRUST, TRUST_ALONE, AS_IT_IS, ALGORITHM_3)
"""What a recovered model does: judge the graph, then Algorithm 3; judge it alone; nothing; Algorithm 3 alone."""
JUDGING, TRAINED = (TRUST, TRUST_ALONE), (TRUST, ALGORITHM_3)
IN_TURN = "fitted again, judged in turn"
"""What is done with a graph that may have been poisoned."""

SHARE, MOST = 0.1, 1000
"""The part of the stored answers that is withheld, and how many at most."""
EXCESS, ERRORS = 0.02, 3.0
"""The graph is perturbed where the mean suspicion of the nodes in question exceeds that of the withheld ones by so
much, and by so many standard errors."""
CLEARLY = 2.0
"""Elsewhere the model stays as it is unless another way brings back more by so many standard errors. A graph that may
be poisoned is judged in turn unless that costs more validation nodes than so many."""
PRIOR = 20.0
"""So many simulated nodes count beside the withheld ones of a bin."""


@dataclass(frozen=True)
class Report:
    """What a recovery chose, and why.

    Attributes:
        chosen: one of the `WAYS`, or `IN_TURN`.
        estimates: for each way, the share of clean answers that it brings back for the nodes in question, estimated.
        withheld: how many stored answers were withheld to find out.
        in_question: the nodes that it is for: those of which nothing is stored, or else whose surroundings changed.
        validation: how many validation nodes decided, where the graph of the fit may be poisoned; the estimates are
            then shares of right answers.
    """

    chosen: str
    estimates: dict[str, float]
    withheld: int
    in_question: int
    validation: int = 0

    fields: ClassVar[Schema] = {
        "chosen": Field(str),
        "estimates": Field(dict, items=Field(float, low=0, high=1)),
        "withheld": Field(int, low=0),
        "in_question": Field(int, low=0),
        "validation": Field(int, low=0, optional=True),
    }

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        others = ", ".join(f"{way} {share:.1%}" for way, share in self.estimates.items() if way != self.chosen)
        if self.validation:
            right = f"right about {self.estimates[self.chosen]:.1%} of {self.validation:,} validation nodes"
            return f"chose {self.chosen}: {right} ({others})"
        if self.chosen == IN_TURN:
            return f"chose {self.chosen}: there was no validation node to compare it with the model as it is"
        return (
            f"chose {self.chosen}: it should bring back {self.estimates[self.chosen]:.1%} of the answers of "
            f"{self.in_question:,} nodes in question ({others}), judged by {self.withheld:,} stored answers that were "
            "withheld"
        )


def withheld_rows(known: Positions, rng: np.random.Generator) -> Positions:
    """The nodes whose stored answers are withheld, of those that have one."""
    number = min(MOST, round(SHARE * len(known)))
    return np.sort(rng.permutation(known)[:number])


def choose(
    front: Front, nodes: Positions, stored: Int64[np.ndarray, " a"], answers: Mapping[str, Float[np.ndarray, "n k"]]
) -> Report:
    """The way whose answers agree most with what was withheld, weighed by how suspicious the nodes in question are.

    In a bin of suspicion with few withheld nodes, what came back in the simulations of the fit counts more. The
    withheld nodes are also a control group, judged as if they were new: where the nodes in question are clearly more
    suspicious than they are, the graph is perturbed, and only the ways that judge it are chosen from. Elsewhere the
    model stays as it is unless another way is clearly better.

    Args:
        front: the judgement of the graph without the withheld answers.
        nodes, stored: whose answers were withheld, and the answers.
        answers: of each way, for every node of the graph.
    """
    asked = np.setdiff1d(front.in_question, nodes)
    if not asked.size:
        asked = np.flatnonzero(front.doubt > 0)
    suspicion, right = front.judgement.suspicion, {way: answers[way][nodes].argmax(axis=1) == stored for way in WAYS}
    return decide(tally(suspicion[asked if asked.size else nodes], suspicion[nodes], right), front.model.brought_back)


def by_validation(judged: Bool[np.ndarray, " v"], as_it_is: Bool[np.ndarray, " v"], in_question: int) -> Report:
    """Fitted again and judged in turn, unless that is right about fewer validation nodes by two standard errors.

    Few validation nodes are near what a poisoner changed, so they show harm rather than benefit.

    Args:
        judged, as_it_is: which validation nodes each way is right about.
    """
    more = judged.astype(float) - as_it_is
    chosen = AS_IT_IS if more.sum() < -CLEARLY * np.sqrt(np.square(more).sum()) else IN_TURN
    shares = {IN_TURN: judged, AS_IT_IS: as_it_is}
    estimates = {way: round(float(right.mean()), 4) if len(right) else 0.0 for way, right in shares.items()}
    return Report(chosen, estimates, withheld=0, in_question=in_question, validation=len(judged))


class Tally(NamedTuple):
    """What the choice depends on: sums over nodes, so that those of several parts can be added.

    Attributes:
        asked, control: of the nodes in question and of the withheld ones, how many are in each bin of suspicion.
        asked_sums, control_sums: of their suspicion, the sum and the sum of squares.
        right: for each way, how many answers of the withheld nodes of each bin it brings back.
        more: for each way, the sum and the sum of squares of how many more it brings back than the model as it is.
    """

    asked: Float[np.ndarray, " b"]
    control: Float[np.ndarray, " b"]
    asked_sums: Float[np.ndarray, " 2"]
    control_sums: Float[np.ndarray, " 2"]
    right: Float[np.ndarray, "w b"]
    more: Float[np.ndarray, "w 2"]


def tally(
    asked: Float[np.ndarray, " q"], control: Float[np.ndarray, " a"], right: Mapping[str, Bool[np.ndarray, " a"]]
) -> Tally:
    """Count, given the suspicion of the nodes in question and of the withheld ones, and which answers come back."""
    number = len(BINS) + 1
    bins = np.digitize(control, BINS)
    more = [right[way].astype(float) - right[AS_IT_IS] for way in WAYS]
    asked_sums, control_sums = (np.array([some.sum(), np.square(some).sum()]) for some in (asked, control))
    return Tally(
        np.bincount(np.digitize(asked, BINS), minlength=number).astype(float),
        np.bincount(bins, minlength=number).astype(float),
        asked_sums,
        control_sums,
        np.stack([np.bincount(bins, weights=right[way], minlength=number) for way in WAYS]),
        np.stack([[one.sum(), np.square(one).sum()] for one in more]),
    )


def decide(counted: Tally, simulated: Float[np.ndarray, "b 3"]) -> Report:
    """The choice; `simulated` is what came back in the simulations of the fit."""
    number, withheld = float(counted.asked.sum()), float(counted.control.sum())
    shares, estimates = counted.asked / max(number, 1), {}
    for way, right in zip(WAYS, counted.right, strict=True):
        back = (right + PRIOR * simulated[:, 1 if way in JUDGING else 0]) / (counted.control + PRIOR)
        estimates[way] = float(np.clip(shares @ back, 0, 1))
    perturbed = _more_suspicious(counted)
    chosen = max(JUDGING if perturbed else WAYS, key=lambda way: estimates[way])
    if not perturbed and withheld:
        variance = _moments(counted.more[WAYS.index(chosen)], withheld)[1]
        if estimates[chosen] - estimates[AS_IT_IS] <= CLEARLY * np.sqrt(variance / withheld):
            chosen = AS_IT_IS
    return Report(chosen, {way: round(share, 4) for way, share in estimates.items()}, round(withheld), round(number))


def _more_suspicious(counted: Tally) -> bool:
    """Whether the nodes in question are clearly more suspicious than those of the control group."""
    number, withheld = float(counted.asked.sum()), float(counted.control.sum())
    if not (number and withheld):
        return False
    mean, variance = _moments(counted.asked_sums, number)
    control, spread = _moments(counted.control_sums, withheld)
    error = np.sqrt(variance / number + spread / withheld)
    return bool(mean - control > max(EXCESS, ERRORS * error))


def _moments(sums: Float[np.ndarray, " 2"], number: float) -> tuple[float, float]:
    """Mean and variance, of the sum and the sum of squares."""
    mean, square = sums / number
    return float(mean), float(max(square - mean**2, 0.0))
