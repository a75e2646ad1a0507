"""A spec and its records, joined by the name of the run: every row keeps its label, and what is missing is known.

A spec is taken by its shape and not by its class: `gvdn.experiments.spec` reaches torch through what runs a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from gvdn.errors import InvalidInput
from gvdn.experiments.runs import Record, by_key
from gvdn.reports.statistics import Summary, summarise

PAPER_DATASETS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
"""The paper's graphs that are here; Flickr's features could not be obtained."""

SCORED = ("cell", "mode", "accuracy", "entropy", "ece", "brier", "seconds")
"""What a record holds if nothing else is said of its mode."""

NEEDED = {
    "counts": ("cell", "mode", "counts"),
    "recovered, mapped": (*SCORED, "map", "separation"),
    "recovered, mapped on the way": (*SCORED, "map", "separation"),
    "recovered, losses kept": (*SCORED, "losses"),
    "streamed": (*SCORED, "seconds_each"),
}

SHARES = ("accuracy", "entropy", "ece", "validation")
"""What is kept as a share and shown in per cent."""


@runtime_checkable
class SpecLike(Protocol):
    """What a report needs of a spec; `gvdn.experiments.spec.Spec` is one."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def left_out(self) -> str: ...
    @property
    def datasets(self) -> tuple[str, ...]: ...
    @property
    def seeds(self) -> tuple[int, ...]: ...
    @property
    def rows(self) -> Sequence[Any]: ...
    @property
    def paper(self) -> dict[str, Any]: ...
    def tasks(self) -> Iterator[Any]: ...


@dataclass
class Runs:
    """One row of a spec on one dataset in one mode: by seed a record, a failure, or neither."""

    row: Any
    dataset: str
    mode: str
    records: dict[int, Record] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)

    def values(self, name: str) -> dict[int, float]:
        """A measured thing by seed; a word before it says in which part of the record it is.

        "clean accuracy" is that of the same model before the perturbation, "separation recovered" that of a state.
        """
        found = {seed: _value(record, name) for seed, record in self.records.items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def summary(self, name: str) -> Summary | None:
        return summarise([value for _, value in sorted(self.values(name).items())])


@dataclass
class Joined:
    """A spec with all that was measured for it."""

    spec: SpecLike
    runs: list[Runs]

    def find(self, dataset: str, mode: str, **asked: Any) -> Runs | None:
        """The runs of the row with this method, label, or setting."""
        there = (one for one in self.runs if one.dataset == dataset and one.mode == mode)
        return next((one for one in there if _fits(one.row, asked)), None)

    @property
    def records(self) -> list[Record]:
        return [record for one in self.runs for _, record in sorted(one.records.items())]


def join(spec: SpecLike, folder: Path) -> Joined:
    """The spec with its records, whichever file of the folder they are in; one that lacks something is named."""
    return join_all([spec], folder)[spec.name]


def join_all(specs: Sequence[SpecLike], folder: Path) -> dict[str, Joined]:
    """Every spec by its name, with its records; the folder is read once."""
    records = by_key(folder)
    return {spec.name: _joined(spec, records, folder) for spec in specs}


def _joined(spec: SpecLike, records: dict[str, Record], folder: Path) -> Joined:
    runs: dict[tuple[int, str, str], Runs] = {}
    rows = [
        (number, row)
        for dataset in spec.datasets
        for _ in spec.seeds
        for number, row in enumerate(spec.rows)
        if not row.datasets or dataset in row.datasets
    ]
    for (number, row), (cell, modes) in zip(rows, spec.tasks(), strict=True):
        for mode in modes:
            one = runs.setdefault((number, cell.dataset, mode), Runs(row, cell.dataset, mode))
            record = records.get(cell.key(mode))
            if record is None:
                one.missing.append(cell.seed)
            elif "error" in record:
                one.errors[cell.seed] = str(record["error"])
            else:
                one.records[cell.seed] = _whole(record, mode, folder)
    order = {dataset: place for place, dataset in enumerate(spec.datasets)}
    return Joined(spec, [runs[key] for key in sorted(runs, key=lambda key: (order[key[1]], key[0]))])


def _whole(record: Record, mode: str, folder: Path) -> Record:
    absent = [name for name in NEEDED.get(mode, SCORED) if name not in record]
    if absent:
        names = ", ".join(absent)
        raise InvalidInput(f"{folder}: the record {record['key']} of a run has no {names}; remove its line")
    return record


def _value(record: Record, name: str) -> float | None:
    if name == "seconds":
        return float(sum(record["seconds"].values())) if name in record else None
    part, _, inside = name.partition(" ")
    if inside:
        record, name = record.get(part, {}), inside
    value = record.get(name)
    if value is None:
        return None
    return float(value) * (100 if name in SHARES else 1)


def _fits(row: Any, asked: dict[str, Any]) -> bool:
    known = {**row.split, **row.perturbation_settings, **row.settings}
    known |= {"method": row.method, "label": row.label, "perturbation": row.perturbation}
    return all(name in known and known[name] == value for name, value in asked.items())


def same_device(a: Runs, b: Runs) -> list[int]:
    """The seeds that both have a record of, measured on the same device: only there are seconds comparable."""
    both = sorted(a.records.keys() & b.records.keys())
    return [seed for seed in both if a.records[seed].get("device") == b.records[seed].get("device")]


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each once, in the order of the first."""
    return list(dict.fromkeys(values))
