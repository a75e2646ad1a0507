"""The record of a run: what was asked, what was measured, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.schema import SETTINGS, Field, Schema, checked
from gvdn.study.cell import Cell, Mode, mode_named


@dataclass(frozen=True)
class Scores:
    """What the metrics say of some nodes, as shares (the Brier score as it is)."""

    accuracy: float
    entropy: float
    ece: float
    brier: float
    nodes: int


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run. In JSON the scores stand beside the other fields, and what is None or empty is left out.

    Attributes:
        error: why the run failed; such a record holds nothing else.
        scores: on the victims (on all test nodes where there are none).
        clean: the same model on the same nodes before the perturbation, where it knew that graph.
        settings, perturbation_settings: all of the method's; those of the perturbation that are not its defaults.
        graph: the beginning of the hash of the graph that was asked about.
        epoch, validation: the epoch whose weights were kept, and its validation score.
        seconds: by stage (fit, recover, answer, stream). Modes that share a fit all have its seconds; what a model fits
            when it is first asked for (trust) counts in the stage of the first mode that asks, and in no later one.
        seconds_each: per sub-graph, where victims arrive in groups.
        map, separation, losses, counts: what their modes keep besides.
        code: a hash of the code that the run depends on (`gvdn.bench.code`); older records do not have it.
        measured_with: the hash of the code that it was measured with, where that is another and gives the same numbers:
            runs that differ from this one in the seed alone were measured again with `code` (`gvdn.bench.confirm`), or
            what changed moves no number (results/README.md says what).
        recovery: the way that the recovery chose, with its estimates.
        links: how well hostile links at the victims are told from genuine ones, by the area under the curve, and the
            calibration error of their probabilities.
    """

    cell: Cell
    mode: Mode
    error: str | None = None
    scores: Scores | None = None
    clean: Scores | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    graph: str | None = None
    epoch: int | None = None
    validation: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    seconds_each: float | None = None
    peak_mib: float | None = None
    peak_gpu_mib: float | None = None
    device: str | None = None
    gvdn: str | None = None
    torch: str | None = None
    python: str | None = None
    commit: str | None = None
    code: str | None = None
    measured_with: str | None = None
    map: dict[str, Any] | None = None
    separation: dict[str, float] | None = None
    losses: dict[str, Any] | None = None
    recovery: dict[str, Any] | None = None
    links: dict[str, Any] | None = None
    counts: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        return self.cell.key(self.mode)

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it; `from_json` reads it again."""
        content: dict[str, Any] = {"key": self.key, "cell": self.cell.asked(), "mode": str(self.mode)}
        for one in fields(self)[2:]:
            value = getattr(self, one.name)
            if one.name == "scores" and value is not None:
                content |= vars(value)
            elif value is not None and value != {}:
                content[one.name] = vars(value) if isinstance(value, Scores) else value
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Record:
        """The record of a JSON object; what it lacks, or has that is not known, is named."""
        content = {name: value for name, value in checked(content, _FIELDS, "a record").items() if value is not None}
        cell = checked(content["cell"], _CELL, "the cell of a record")
        cell = {name: value for name, value in cell.items() if value is not None}
        given = {name: value for name, value in content.items() if name not in ("key", *_SCORES)}
        given["cell"], given["mode"] = Cell(**{"method": "", **cell}), mode_named(content["mode"], " of a record")
        given["scores"] = _scores(content) if "accuracy" in content else None
        given["clean"] = _scores(content["clean"]) if "clean" in content else None
        record = cls(**given)
        if content["key"] != record.key:
            got = content["key"][:60]
            raise InvalidInput(f"expected the key {record.key} of what the record says was asked, got {got}")
        if record.map is not None and len({len(part) for part in _per_node(record.map)}) > 1:
            raise InvalidInput("expected one entry for each of its nodes in every part of a map")
        for name in _NEEDED.get(record.mode, ("scores",)):
            if record.error is None and getattr(record, name) is None:
                raise InvalidInput(f"a record of the mode {str(record.mode)!r} has no {name}")
        return record


_SHARE, _TEXT = Field(float, low=0, high=1.001), Field(str, optional=True)
_POSITIVE = Field(float, optional=True, low=0)
_SCORES: Schema = {
    "accuracy": _SHARE,
    "entropy": _SHARE,
    "ece": _SHARE,
    "brier": Field(float, low=0, high=2.001),
    "nodes": Field(int, low=0),
}
_CELL: Schema = {
    "dataset": Field(str),
    "seed": Field(int),
    **dict.fromkeys(("method", "perturbation", "chosen", "content"), _TEXT),
    **dict.fromkeys(("perturbation_settings", "settings", "split"), replace(SETTINGS, optional=True)),
}
_WHOLE, _NUMBERS = Field(list, items=Field(int)), Field(list, items=Field(float))
_MAP: Schema = {
    **dict.fromkeys(("classes", "victims"), _WHOLE),
    "ids": Field(list, items=Field(object)),
    "class_names": Field(list, items=Field(str)),
    "states": Field(
        dict, items=Field(dict, fields={"answers": _WHOLE, "xy": Field(list, items=replace(_NUMBERS, low=2, high=2))})
    ),
}
_FIELDS: Schema = {
    "key": Field(str),
    "cell": Field(dict),
    "mode": Field(str),
    **{name: replace(field, optional=True) for name, field in _SCORES.items()},
    **dict.fromkeys(("settings", "perturbation_settings"), replace(SETTINGS, optional=True)),
    **dict.fromkeys(("error", "graph", "device", "gvdn", "torch", "python", "commit", "code"), _TEXT),
    "measured_with": _TEXT,
    **dict.fromkeys(("seconds_each", "peak_mib", "peak_gpu_mib"), _POSITIVE),
    "clean": Field(dict, optional=True),
    "epoch": Field(int, optional=True, low=0),
    "validation": Field(float, optional=True),
    "seconds": Field(dict, optional=True, items=Field(float, low=0)),
    "separation": Field(dict, optional=True, items=Field(float, low=-1, high=1)),
    "map": Field(dict, optional=True, fields=_MAP),
    "losses": Field(dict, optional=True, items=Field(dict, items=_NUMBERS)),
    "counts": Field(dict, optional=True, items=Field(float, optional=True)),
    "recovery": Field(dict, optional=True),
    "links": Field(dict, optional=True, items=Field(float, low=0)),
}
_NEEDED = {
    Mode.COUNTS: ("counts",),
    Mode.MAPPED: ("scores", "map", "separation"),
    Mode.MAPPED_BY_EPOCH: ("scores", "map", "separation"),
    Mode.WITH_LOSSES: ("scores", "losses"),
    Mode.STREAMED: ("scores", "seconds_each"),
}
"""What a record of a mode holds, if it is not scores alone."""


def _per_node(drawn: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The parts of a map that have an entry for each node."""
    yield from (drawn[name] for name in ("ids", "classes", "victims"))
    yield from (state[name] for state in drawn["states"].values() for name in ("xy", "answers"))


def _scores(content: Mapping[str, Any]) -> Scores:
    return Scores(**checked({name: content[name] for name in _SCORES if name in content}, _SCORES, "the scores"))
