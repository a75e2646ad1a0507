"""Means and standard deviations over the seeds, one for each row, mode and dataset of a spec."""

from dataclasses import dataclass

from gvdn.reports.joined import Joined
from gvdn.study import Mode


@dataclass(frozen=True)
class Mean:
    """The mean of one row in one mode on one dataset: accuracy and entropy in per cent, and seconds."""

    row: str
    """The label, after the group where there is one."""
    method: str
    mode: Mode
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
    """In the order of the spec's datasets and rows; runs without scores (failed, or only counted) are left out."""
    found = []
    for one in joined.runs:
        accuracy, entropy, seconds = (one.summary(name) for name in ("accuracy", "entropy", "seconds"))
        if accuracy and entropy and seconds:
            who = (one.name, one.row.method, one.mode, one.dataset)
            found.append(Mean(*who, accuracy.n, accuracy.mean, accuracy.std, entropy.mean, seconds.mean))
    return found
