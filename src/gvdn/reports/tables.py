"""Tables as values, which pages and Markdown files draw alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from gvdn.data.catalogue import DATASETS
from gvdn.reports.statistics import Paired, Summary, is_sure

MARK = "▼"
"""Stands where ours is worse than the published value, which lies outside of our 95 % interval."""


LEVEL_WORD = "level"
"""Stands where a difference surely lies within a point."""

NOT_RUN = "–"
NOT_ASKED = "not asked"
NEW_LINE = "\n"


@dataclass(frozen=True)
class Entry:
    """One cell of a table: our value, and in small letters the published one."""

    text: str
    small: str = ""
    marked: bool = False
    best: bool = False

    @property
    def absent(self) -> bool:
        """Whether it says that there is no number."""
        return self.text in (NOT_RUN, NOT_ASKED)

    def markdown(self) -> str:
        text = f"**{self.text}**" if self.best else self.text
        return f"{text} ({self.small.replace(NEW_LINE, '; ')})" if self.small else text


@dataclass(frozen=True)
class Line:
    """One line of a table; the heading of a group stands once above its lines."""

    heading: str
    entries: list[Entry]
    group: str = ""

    @property
    def name(self) -> str:
        return titled(self.heading)


@dataclass(frozen=True)
class Table:
    """A title, columns, lines and a note."""

    title: str
    columns: list[str]
    lines: list[Line]
    note: str = ""
    folded: bool = False
    """Whether it is shown after a click only; in print it is always shown."""
    text: bool = False
    """Whether the entries are words, which are aligned to the left."""

    @property
    def heads(self) -> list[str]:
        return [titled(column) for column in self.columns]

    def markdown(self, *, title: bool = True) -> str:
        """In Markdown, with its title as a heading unless the page has one."""
        head = ["", *self.heads]
        rows = [head, ["---", *("---" if self.text else "---:" for _ in self.columns)]]
        for line in self.lines:
            name = f"{line.group}: {line.name}" if line.group and line.heading else line.group or line.name
            rows.append([name, *(entry.markdown() for entry in line.entries)])
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        note = f"\n{self.note}\n" if self.note else ""
        return (f"### {self.title}\n\n" if title else "") + "\n".join(lines) + f"\n{note}"


def titled(dataset: str) -> str:
    """The name of a dataset, with a remark if its features are simulated."""
    simulated = dataset in DATASETS and DATASETS[dataset].simulated_features
    return f"{dataset} (simulated features)" if simulated else dataset


def compared(
    ours: Summary | None,
    published: float | None,
    *,
    usual: int,
    digits: int = 1,
    best: bool = False,
    why: str = NOT_RUN,
    same_machine: bool = True,
    lower_is_better: bool = False,
    may_be_marked: bool = True,
) -> Entry:
    """Ours as mean ± standard deviation; below it the published value, the difference, and a mark where ours is worse.

    It is worse where the published value is the better one and lies outside of our 95 % interval.

    The number of seeds is shown where it is not the usual one. A value measured on another machine is shown and not
    compared.
    """
    words = [] if ours is None or ours.n == usual else [f"n {ours.n}"]
    words += [] if published is None else [f"paper {number(published, 2)}"]
    if ours is None:
        return Entry(why, ", ".join(words))
    marked = (
        published is not None
        and same_machine
        and may_be_marked
        and ours.excludes(published)
        and (ours.mean > published) is lower_is_better
    )
    if published is not None and same_machine:
        words.append(signed(ours.mean - published, digits) + (f" {MARK}" if marked else ""))
    return Entry(mean_and_spread(ours, digits), ", ".join(words), marked, best)


def mean_and_spread(ours: Summary, digits: int = 1) -> str:
    return number(ours.mean, digits) + ("" if ours.std is None else f" ± {number(ours.std, digits)}")


def beats(pair: Paired | None, mode: str, *, usual: int, p: float | None, p_level: float | None) -> Entry:
    """A paired difference, with the other method's mode, the 95 % interval and the p-value.

    The p-values are those of the paired t test and of equivalence within a point, corrected for the comparisons of the
    table. A sure difference is bold or marked; where there is none, a sure equivalence is said.
    """
    if pair is None:
        return Entry(NOT_RUN)
    difference = pair.difference
    if difference.low is None or difference.high is None or p is None:
        return Entry(signed(difference.mean), f"{mode}{NEW_LINE}n 1, no interval")
    sure = is_sure(p)
    small = f"[{signed(difference.low)}, {signed(difference.high)}]{NEW_LINE}p {p:.2g}"
    small += f", {LEVEL_WORD}" if not sure and is_sure(p_level) else ""
    small += "" if difference.n == usual else f", n {difference.n}"
    worse, better = sure and difference.mean < 0, sure and difference.mean > 0
    return Entry(signed(difference.mean), f"{mode}{NEW_LINE}{small}", marked=worse, best=better)


def number(value: float, digits: int = 1) -> str:
    """With a comma between thousands, and no minus before a zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def in_words(parts: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"


def signed(value: float, digits: int = 1) -> str:
    text = number(value, digits)
    return text if text.startswith("−") else f"+{text}"
