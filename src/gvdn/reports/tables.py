"""Tables as values: a page and a Markdown file draw the same ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from gvdn.reports.statistics import Paired, Summary

MARK = "≠"
"""Stands where the paper's value lies outside of our 95 % interval."""

NOT_RUN = "–"
NOT_ASKED = "not asked"
NEW_LINE = "\n"

ASIDES = {"flickr-structure": "simulated features"}
"""What must be said of a dataset wherever its name stands above a number."""


@dataclass(frozen=True)
class Entry:
    """What stands in one place of a table: ours, and in small letters what the paper prints."""

    text: str
    small: str = ""
    marked: bool = False
    best: bool = False

    def plain(self) -> str:
        text = f"**{self.text}**" if self.best else self.text
        return f"{text} ({self.small.replace(NEW_LINE, '; ')})" if self.small else text


@dataclass(frozen=True)
class Line:
    """One line of a table; a group's heading stands once above its lines."""

    heading: str
    entries: list[Entry]
    group: str = ""

    @property
    def name(self) -> str:
        return titled(self.heading)


@dataclass(frozen=True)
class Table:
    title: str
    columns: list[str]
    lines: list[Line]
    note: str = ""
    folded: bool = False
    """Whether it waits for a click on a screen; in print it is open."""
    text: bool = field(default=False)
    """Words rather than numbers: aligned to the left."""

    @property
    def heads(self) -> list[str]:
        return [titled(column) for column in self.columns]

    def markdown(self) -> str:
        head = ["", *self.heads]
        rows = [head, ["---", *("---" if self.text else "---:" for _ in self.columns)]]
        for line in self.lines:
            name = f"{line.group}: {line.name}" if line.group and line.heading else line.group or line.name
            rows.append([name, *(entry.plain() for entry in line.entries)])
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        note = f"\n{self.note}\n" if self.note else ""
        return f"### {self.title}\n\n" + "\n".join(lines) + f"\n{note}"


def titled(name: str) -> str:
    """The name with its aside."""
    return f"{name} ({ASIDES[name]})" if name in ASIDES else name


def compared(
    ours: Summary | None,
    paper: float | None,
    *,
    usual: int,
    digits: int = 1,
    best: bool = False,
    why: str = NOT_RUN,
    elsewhere: bool = False,
) -> Entry:
    """Ours as mean ± standard deviation; below it the paper's value, the difference, and the mark if it is due.

    n is said where it is not the usual one. What was measured elsewhere, on another machine, is shown and not compared.
    """
    if ours is None:
        return Entry(why, "" if paper is None else f"paper {number(paper, 2)}")
    words = [] if ours.n == usual else [f"n {ours.n}"]
    words += [] if paper is None else [f"paper {number(paper, 2)}"]
    marked = paper is not None and not elsewhere and ours.excludes(paper)
    if paper is not None and not elsewhere:
        words.append(signed(ours.mean - paper, digits) + (f" {MARK}" if marked else ""))
    return Entry(mean_and_spread(ours, digits), ", ".join(words), marked, best)


def mean_and_spread(ours: Summary, digits: int = 1) -> str:
    return number(ours.mean, digits) + ("" if ours.std is None else f" ± {number(ours.std, digits)}")


def beats(pair: Paired | None, mode: str, *, usual: int) -> Entry:
    """A difference with the other's mode, its 95 % interval and the p-value of the sign-flip test."""
    if pair is None:
        return Entry(NOT_RUN)
    difference = pair.difference
    if difference.low is None or difference.high is None:
        return Entry(signed(difference.mean), f"{mode}{NEW_LINE}n 1, no interval")
    small = f"[{signed(difference.low)}, {signed(difference.high)}], p {pair.p:.3g}"
    small += "" if difference.n == usual else f", n {difference.n}"
    return Entry(
        signed(difference.mean), f"{mode}{NEW_LINE}{small}", marked=difference.below_zero, best=difference.above_zero
    )


def number(value: float, digits: int = 1) -> str:
    """With thousands set apart, and no minus before a zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"


def signed(value: float, digits: int = 1) -> str:
    text = number(value, digits)
    return text if text.startswith("−") else f"+{text}"
