"""One cell of a comparison: one method on one perturbed graph, and the modes in which they can meet."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gvdn.experiments.runs import Record

Mode = Literal[
    "clean",
    "afterwards",
    "in training",
    "in training, recovered",
    "recovered",
    "recovered, victims unseen",
    "recovered, mapped",
    "recovered, mapped on the way",
    "recovered, losses kept",
    "streamed",
    "counts",
]
"""Fitted and asked on the clean graph; fitted on the clean graph and asked on the perturbed one, as it is or after
`recover`, with what was stored of the victims or without; fitted on the perturbed graph, as it is or with `recover`.
Then recovered with something kept besides the scores, asked while the victims arrive in groups, and no method at all:
the graph itself is counted."""


@dataclass(frozen=True)
class Cell:
    """A dataset, what happened to it, a method and a seed; everything drawn at random is drawn anew per seed.

    Graph, split and perturbation depend on nothing else: every method meets the same victims.
    """

    dataset: str
    method: str
    seed: int
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Changes to the method's settings for the dataset."""
    split: dict[str, Any] = field(default_factory=dict)
    """Changes to the random split."""

    def asked(self) -> dict[str, Any]:
        """All that is not empty, so that a field that is added later changes no name."""
        return {name: value for name, value in asdict(self).items() if value not in ({}, "")}

    def key(self, mode: Mode) -> str:
        """The name of a run: a hash of all that was asked for."""
        asked = json.dumps([self.asked(), mode], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()[:16]

    def meeting(self) -> str:
        """The name of the graph that is met: a hash of all but the method, which has no say in it."""
        asked = {name: value for name, value in self.asked().items() if name not in ("method", "settings")}
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    def heading(self, mode: Mode) -> Record:
        """What every record of this cell begins with."""
        return {"key": self.key(mode), "cell": self.asked(), "mode": mode}


def modes_of(method: str) -> tuple[Mode, ...]:
    """How a method can meet a perturbed graph, by what it declares and can do."""
    from gvdn.methods.contract import method_class

    kind = method_class(method)
    recovers = kind.access.snapshot and hasattr(kind, "recover")
    modes: list[Mode] = ["afterwards"] if "afterwards" in kind.access.perturbed else []
    if "in training" in kind.access.perturbed:
        modes.append("in training, recovered" if recovers else "in training")
    if recovers:
        modes.append("recovered")
        if "known" in inspect.signature(kind.recover).parameters:
            modes.append("recovered, victims unseen")
    return tuple(modes)
