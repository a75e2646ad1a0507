"""How much of a spec is there, and how long the rest will take, judged by what is there. Imports no torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from gvdn.experiments.runs import Record
from gvdn.experiments.spec import Task


@dataclass
class Line:
    """One dataset and method of a spec."""

    dataset: str
    method: str
    runs: int = 0
    there: int = 0
    failed: int = 0
    seconds_left: float | None = 0.0

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.runs, self.there, self.failed

    @property
    def time_left(self) -> str:
        if self.seconds_left is None:
            return "unknown"
        return f"{self.seconds_left:,.0f} s"


def outlook(tasks: Iterable[Task], records: dict[str, Record]) -> list[Line]:
    """A line per dataset and method, from records by key; the time left is that of the median run of the same kind so
    far."""
    pace = _pace(records.values())
    lines: dict[tuple[str, str], Line] = {}
    for cell, modes in tasks:
        line = lines.setdefault((cell.dataset, cell.method), Line(cell.dataset, cell.method))
        for mode in modes:
            record = records.get(cell.key(mode))
            line.runs += 1
            line.there += record is not None
            line.failed += record is not None and "error" in record
            if record is None and line.seconds_left is not None:
                usual = pace.get((cell.dataset, cell.method, mode))
                line.seconds_left = None if usual is None else line.seconds_left + usual
    return list(lines.values())


def total(lines: Iterable[Line], name: str) -> Line:
    """All lines as one; its time left is unknown if one of theirs is."""
    lines = list(lines)
    known = [line.seconds_left for line in lines if line.seconds_left is not None]
    runs, there, failed = (sum(line.counts[place] for line in lines) for place in range(3))
    return Line(name, "", runs, there, failed, sum(known) if len(known) == len(lines) else None)


def _pace(records: Iterable[Record]) -> dict[tuple[str, str, str], float]:
    spent: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for record in records:
        if "seconds" in record:
            cell = record["cell"]
            spent[cell["dataset"], cell["method"], record["mode"]].append(sum(record["seconds"].values()))
    return {kind: median(times) for kind, times in spent.items()}
