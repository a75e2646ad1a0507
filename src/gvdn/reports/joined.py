"""A spec joined with its records: each row on each dataset in each mode, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gvdn.reports.statistics import Summary, summarise
from gvdn.study import Mode, Record, Row, Scores, Spec, records_by_key

T = TypeVar("T")

SHARES = ("accuracy", "entropy", "ece", "validation")
"""Metrics that a record holds as shares and reports show in per cent."""


@dataclass
class Runs:
    """One row of a spec on one dataset in one mode: for each seed a record, an error, or neither."""

    row: Row
    dataset: str
    mode: Mode
    records: dict[int, Record] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The label of the row, after its group where it has one."""
        return f"{self.row.group}: {self.row.label}" if self.row.group else self.row.label

    @property
    def asked(self) -> int:
        """The number of seeds."""
        return len(self.records) + len(self.errors) + len(self.missing)

    def values(self, metric: str) -> dict[int, float]:
        """A metric by seed, without the seeds whose record does not have it; `measured` says how metrics are named."""
        found = {seed: measured(record, metric) for seed, record in sorted(self.records.items())}
        return {seed: value for seed, value in found.items() if value is not None}

    def summary(self, metric: str) -> Summary | None:
        """Mean, standard deviation and interval of a metric over the seeds."""
        return summarise(list(self.values(metric).values()))


@dataclass
class Joined:
    """A spec with everything that was measured for it, in the order of its datasets and rows."""

    spec: Spec
    runs: list[Runs]
    keys: frozenset[str] = frozenset()
    """The key of every run that it asks for."""

    def find(self, dataset: str, mode: Mode, **asked: Any) -> Runs | None:
        """The runs of the first row with this method, label, group, series, perturbation or setting.

        None as a setting means a row that does not change it. The result is None where such a row is not run on the
        dataset or in the mode; a question that no row of the spec fits is a LookupError.
        """
        rows = [row for row in self.spec.rows if _fits(row, asked)]
        if not rows:
            raise LookupError(f"no row of the spec {self.spec.name} has {asked}")
        return next((found for row in rows if (found := self.at(row, dataset, mode))), None)

    def at(self, row: Row, dataset: str, mode: Mode) -> Runs | None:
        """The runs of a row of the spec on a dataset in a mode, if there are any."""
        here = (one for one in self.runs if one.dataset == dataset and one.mode == mode)
        return next((one for one in here if one.row is row), None)

    @property
    def records(self) -> list[Record]:
        return [record for one in self.runs for _, record in sorted(one.records.items())]


def join(spec: Spec, folder: Path) -> Joined:
    """The spec with its records, whichever file of the folder they stand in."""
    return joined_from(spec, records_by_key(folder))


def join_all(specs: Sequence[Spec], folder: Path) -> dict[str, Joined]:
    """Every spec with its records, by name; the folder is read once."""
    records = records_by_key(folder)
    return {spec.name: joined_from(spec, records) for spec in specs}


def joined_from(spec: Spec, records: Mapping[str, Record]) -> Joined:
    """The spec with those of the records, by key, that it asks for.

    A row that names no modes is joined in every mode that it has a record of.
    """
    runs: dict[tuple[int, int, Mode], Runs] = {}
    keys = set()
    order = {dataset: number for number, dataset in enumerate(spec.datasets)}
    rows = {id(row): number for number, row in enumerate(spec.rows)}
    modes = {id(row): row.modes or _recorded(spec, row, records) for row in spec.rows}
    for row, cell in spec.cells():
        for mode in modes[id(row)]:
            slot = (order[cell.dataset], rows[id(row)], mode)
            one = runs.setdefault(slot, Runs(row, cell.dataset, mode))
            key = cell.key(mode)
            keys.add(key)
            record = records.get(key)
            if record is None:
                one.missing.append(cell.seed)
            elif record.error is not None:
                one.errors[cell.seed] = record.error
            else:
                one.records[cell.seed] = record
    return Joined(spec, [runs[slot] for slot in sorted(runs, key=lambda slot: slot[:2])], frozenset(keys))


def measured(record: Record, metric: str) -> float | None:
    """A metric of a record by name, in per cent where it is a share; None if the record does not have it.

    "accuracy" is that of the scores, "clean.accuracy" that of the clean scores, "separation.recovered" and
    "counts.nodes" entries of these parts, "seconds" the sum over the stages.
    """
    part, _, name = metric.rpartition(".")
    if metric == "seconds":
        value: float | None = sum(record.seconds.values()) if record.seconds else None
    elif part or metric in Scores.__dataclass_fields__:
        holder = getattr(record, part or "scores")
        value = (vars(holder) if isinstance(holder, Scores) else holder or {}).get(name)
    else:
        value = getattr(record, metric)
    return None if value is None else float(value) * (100 if name in SHARES else 1)


def same_device(a: Runs, b: Runs) -> list[int]:
    """The seeds that both have a record of on the same device; only these seconds are comparable."""
    both = sorted(a.records.keys() & b.records.keys())
    return [seed for seed in both if a.records[seed].device == b.records[seed].device]


def distinct(values: Iterable[T]) -> list[T]:
    """Each value once, in the order of first appearance."""
    return list(dict.fromkeys(values))


def _fits(row: Row, asked: Mapping[str, Any]) -> bool:
    named = {name: getattr(row, name) for name in ("method", "label", "group", "series", "perturbation")}
    return all((named[name] if name in named else row.setting(name)) == value for name, value in asked.items())


def _recorded(spec: Spec, row: Row, records: Mapping[str, Record]) -> tuple[Mode, ...]:
    cells = [cell for mine, cell in spec.cells() if mine is row]
    return tuple(mode for mode in Mode if any(cell.key(mode) in records for cell in cells))
