"""First, do no harm: recovery chooses among four ways by the withheld answers that each of them brings back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int64

from gvdn.graph import Positions
from gvdn.schema import Field, Schema
from gvdn.trust.front import Front
from gvdn.trust.model import BINS

FITTED, AS_IT_IS, ALGORITHM_3 = "fitted", "as it is", "Algorithm 3"
TRUST, TRUST_ALONE = "trust", "trust without training"
WAYS = (TRUST, TRUST_ALONE, AS_IT_IS, ALGORITHM_3)
"""What a recovered model does: judge the graph, then Algorithm 3; judge it alone; nothing; Algorithm 3 alone."""
JUDGING, TRAINED = (TRUST, TRUST_ALONE), (TRUST, ALGORITHM_3)

SHARE, MOST = 0.1, 1000
"""The part of the stored answers that is withheld, and how many at most."""
EXCESS, ERRORS = 0.02, 3.0
"""The graph is perturbed where the mean suspicion of the nodes in question exceeds that of the withheld ones by so
much, and by so many standard errors."""
CLEARLY = 2.0
"""Elsewhere the model stays as it is unless another way brings back more by so many standard errors."""
PRIOR = 20.0
"""So many simulated nodes count beside the withheld ones of a bin."""


@dataclass(frozen=True)
class Report:
    """What a recovery chose, and why.

    Attributes:
        chosen: one of the `WAYS`.
        estimates: for each way, the share of clean answers that it brings back for the nodes in question, estimated.
        withheld: how many stored answers were withheld to find out.
        in_question: the nodes that it is for: those of which nothing is stored, or else whose surroundings changed.
    """

    chosen: str
    estimates: dict[str, float]
    withheld: int
    in_question: int

    fields: ClassVar[Schema] = {
        "chosen": Field(str),
        "estimates": Field(dict, items=Field(float, low=0, high=1)),
        "withheld": Field(int, low=0),
        "in_question": Field(int, low=0),
    }

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        others = ", ".join(f"{way} {share:.1%}" for way, share in self.estimates.items() if way != self.chosen)
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
    bins = np.digitize(front.judgement.suspicion, BINS)
    asked = np.setdiff1d(front.in_question, nodes)
    if not asked.size:
        asked = np.flatnonzero(front.doubt > 0)
    asked = asked if asked.size else nodes
    shares = np.bincount(bins[asked], minlength=len(BINS) + 1) / max(len(asked), 1)
    simulated = front.model.brought_back
    estimates, right = {}, {way: answers[way][nodes].argmax(axis=1) == stored for way in WAYS}
    for way in WAYS:
        column = 1 if way in JUDGING else 0
        back = [
            (right[way][bins[nodes] == k].sum() + PRIOR * simulated[k, column]) / ((bins[nodes] == k).sum() + PRIOR)
            for k in range(len(BINS) + 1)
        ]
        estimates[way] = float(np.clip(shares @ np.array(back), 0, 1))
    suspicion = front.judgement.suspicion
    perturbed = _more_suspicious(suspicion[asked], suspicion[nodes])
    chosen = max(JUDGING if perturbed else WAYS, key=lambda way: estimates[way])
    if not perturbed and nodes.size:
        more = right[chosen].astype(float) - right[AS_IT_IS]
        if estimates[chosen] - estimates[AS_IT_IS] <= CLEARLY * more.std() / np.sqrt(len(nodes)):
            chosen = AS_IT_IS
    return Report(chosen, {way: round(share, 4) for way, share in estimates.items()}, len(nodes), len(asked))


def _more_suspicious(asked: Float[np.ndarray, " q"], control: Float[np.ndarray, " a"]) -> bool:
    """Whether the nodes in question are clearly more suspicious than those of the control group."""
    if not (asked.size and control.size):
        return False
    error = np.sqrt(asked.var() / len(asked) + control.var() / len(control))
    return bool(asked.mean() - control.mean() > max(EXCESS, ERRORS * error))
