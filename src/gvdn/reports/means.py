"""Records -> means and spreads over the seeds, one line per method and mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean
from typing import Any

from gvdn.reports.statistics import summarise

Record = dict[str, Any]


@dataclass(frozen=True)
class Mean:
    """Per cent over the seeds, and seconds."""

    runs: int
    accuracy: float
    spread: float | None
    entropy: float
    seconds: float

    def __str__(self) -> str:
        spread = "" if self.spread is None else f" ± {self.spread:.1f}"
        return f"{self.accuracy:.1f}{spread} / {self.entropy:.0f}"


def means(records: Iterable[Record]) -> dict[tuple[str, str, str], dict[str, Mean]]:
    """(method, what else was asked, mode) -> dataset -> mean, in the order of the records.

    Failures are left out, and graphs that were only counted.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if "accuracy" in record:
            cell = record["cell"]
            groups[cell["method"], _asked(cell), record["mode"]][cell["dataset"]].append(record)
    return {row: {dataset: _mean(runs) for dataset, runs in cells.items()} for row, cells in groups.items()}


def _mean(runs: list[Record]) -> Mean:
    accuracy = summarise([100 * run["accuracy"] for run in runs])
    assert accuracy is not None, "a group has a run"
    return Mean(
        accuracy.n,
        accuracy.mean,
        accuracy.std,
        mean(100 * run["entropy"] for run in runs),
        mean(sum(run["seconds"].values()) for run in runs),
    )


def _asked(cell: dict[str, Any]) -> str:
    """What tells the rows of one method apart."""
    words = [] if cell["perturbation"] == "random-connections" else [cell["perturbation"]]
    for group in ("perturbation_settings", "settings", "split"):
        words += [f"{name} {value}" for name, value in cell.get(group, {}).items()]
    return ", ".join(words)
