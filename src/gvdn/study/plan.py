"""How much of a spec is measured, and how long the rest will take, judged by what is."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from gvdn.study.cell import Mode
from gvdn.study.record import Record
from gvdn.study.spec import Task


@dataclass
class Outlook:
    """Of one dataset and method of a spec: runs asked for, measured, failed, and the seconds of the rest."""

    dataset: str
    method: str
    runs: int = 0
    measured: int = 0
    failed: int = 0
    seconds_left: float | None = 0.0
    """None where no run of the same kind says how long one takes."""

    @property
    def time_left(self) -> str:
        return "unknown" if self.seconds_left is None else f"{self.seconds_left:,.0f} s"


def missing(
    tasks: Iterable[Task], records: Mapping[str, Record], *, retry: bool = False, again: Container[str] = ()
) -> list[Task]:
    """Each cell with the modes that have no record; a failure counts as one, unless it is to be tried again.

    Runs whose keys are in `again` are measured once more.
    """
    there = {key for key, record in records.items() if key not in again and not (retry and record.error is not None)}
    left: list[Task] = []
    for cell, modes in tasks:
        mine = tuple(mode for mode in dict.fromkeys(modes) if cell.key(mode) not in there)
        there.update(cell.key(mode) for mode in mine)
        if mine:
            left.append((cell, mine))
    return left


def outlook(tasks: Iterable[Task], records: Mapping[str, Record]) -> list[Outlook]:
    """Dataset by dataset and method by method; the time left is that of the median run of the same kind so far."""
    pace = _pace(records.values())
    lines: dict[tuple[str, str], Outlook] = {}
    for cell, modes in tasks:
        line = lines.setdefault((cell.dataset, cell.method), Outlook(cell.dataset, cell.method))
        for mode in modes:
            record = records.get(cell.key(mode))
            line.runs += 1
            line.measured += record is not None
            line.failed += record is not None and record.error is not None
            if record is None and line.seconds_left is not None:
                usual = pace.get((cell.dataset, cell.method, mode))
                line.seconds_left = None if usual is None else line.seconds_left + usual
    return list(lines.values())


def total(lines: Iterable[Outlook], name: str) -> Outlook:
    """All of them as one; its time left is unknown if one of theirs is."""
    lines = list(lines)
    known = [line.seconds_left for line in lines if line.seconds_left is not None]
    return Outlook(
        name,
        "",
        sum(line.runs for line in lines),
        sum(line.measured for line in lines),
        sum(line.failed for line in lines),
        sum(known, 0.0) if len(known) == len(lines) else None,
    )


def _pace(records: Iterable[Record]) -> dict[tuple[str, str, Mode], float]:
    spent: dict[tuple[str, str, Mode], list[float]] = defaultdict(list)
    for record in records:
        if record.seconds:
            spent[record.cell.dataset, record.cell.method, record.mode].append(sum(record.seconds.values()))
    return {kind: median(times) for kind, times in spent.items()}
