"""A spec and its records -> means and spreads over the seeds, one for each row, mode and dataset."""

from __future__ import annotations

from dataclasses import dataclass

from gvdn.reports.joined import Joined


@dataclass(frozen=True)
class Mean:
    """Of one row in one mode on one dataset: per cent over the seeds, and seconds."""

    row: str
    method: str
    mode: str
    dataset: str
    runs: int
    accuracy: float
    spread: float | None
    entropy: float
    seconds: float

    def __str__(self) -> str:
        spread = "" if self.spread is None else f" ± {self.spread:.1f}"
        return f"{self.accuracy:.1f}{spread} / {self.entropy:.0f}"


def means(joined: Joined) -> list[Mean]:
    """In the order of the spec's datasets and rows; failures are left out, and graphs that were only counted."""
    found = []
    for one in joined.runs:
        accuracy, entropy, seconds = (one.summary(name) for name in ("accuracy", "entropy", "seconds"))
        if accuracy and entropy and seconds:
            who = (one.row.label, one.row.method, one.mode, one.dataset)
            found.append(Mean(*who, accuracy.n, accuracy.mean, accuracy.std, entropy.mean, seconds.mean))
    return found
