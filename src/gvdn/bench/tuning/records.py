"""The records of a search: one JSON line for each trial, written whole or not at all."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.files import require_output
from gvdn.schema import SETTINGS, Field, Schema, checked
from gvdn.study.store import append_line, cut_torn_end, read_lines, read_with


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial of a search.

    Attributes:
        key: names what was asked: graph, split, seed, perturbation, method and all of its settings.
        trial: the number of the draw, from 1; 0 for the settings as they stand.
        graph: the name of the graph.
        settings: what was drawn; empty for the settings as they stand.
        score, loss: on the nodes that are scored; None where the trial failed.
        clean: the score on the same nodes of the clean graph.
        nodes: how many nodes are scored.
        error: why the trial failed.
    """

    key: str
    trial: int
    graph: str
    method: str
    seed: int
    perturbation: str
    mode: str
    select: str
    settings: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    loss: float | None = None
    clean: float | None = None
    nodes: int | None = None
    epoch: int | None = None
    seconds: float | None = None
    device: str | None = None
    gvdn: str | None = None
    torch: str | None = None
    commit: str | None = None
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it: without what is None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Trial:
        """The record of a JSON object; what it lacks, or has that is not known, is named."""
        trial = cls(**checked(content, _FIELDS, "a trial"))
        for name in () if trial.error is not None else ("score", "loss", "clean", "nodes"):
            if getattr(trial, name) is None:
                raise InvalidInput(f"expected {name} in a trial that did not fail, got none")
        return trial

    @property
    def rank(self) -> tuple[float, float, int]:
        """Smaller is better: the score, the loss between equal scores, then the earlier trial."""
        assert self.score is not None, "only trials that were scored have a rank"
        assert self.loss is not None, "a trial that was scored has a loss"
        return -self.score, self.loss, self.trial


_TEXT, _NUMBER, _COUNT = Field(str), Field(float, optional=True), Field(int, optional=True, low=0)
_OPTIONAL = Field(str, optional=True)
_FIELDS: Schema = {
    "settings": SETTINGS,
    "trial": Field(int, low=0),
    "seed": Field(int),
    **dict.fromkeys(("key", "graph", "method", "perturbation", "mode", "select"), _TEXT),
    **dict.fromkeys(("score", "loss", "clean", "seconds"), _NUMBER),
    **dict.fromkeys(("nodes", "epoch"), _COUNT),
    **dict.fromkeys(("device", "gvdn", "torch", "commit", "error"), _OPTIONAL),
}
assert set(_FIELDS) == {one.name for one in fields(Trial)}


class Trials:
    """The trials in a file, by key; several searches may share one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = (read_with(Trial.from_json, content, where) for where, content in read_lines(path))
        self.by_key = {trial.key: trial for trial in found}

    def add(self, trial: Trial) -> None:
        """Append a trial: a process that is killed leaves its line whole or torn, and a torn one is run again."""
        append_line(self.path, json.dumps(trial.to_json(), sort_keys=True, allow_nan=False) + "\n")
        self.by_key[trial.key] = trial


@contextmanager
def writing(path: Path) -> Iterator[Trials]:
    """The trials in a file that can be added to; another process that writes to it meanwhile is refused."""
    require_output(path, "file", force=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            do = "wait for it to end, or give another output"
            raise InvalidInput(f"{path} is being written by another process; {do}") from problem
        cut_torn_end(path)
        yield Trials(path)
