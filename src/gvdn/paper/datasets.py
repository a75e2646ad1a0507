"""The dataset table: what the paper counts beside what we count."""

from __future__ import annotations

from dataclasses import dataclass

from gvdn.paper.exhibits import EXHIBITS, Exhibit
from gvdn.reports.joined import Joined
from gvdn.reports.statistics import Summary
from gvdn.reports.tables import MARK, NOT_RUN, Entry, Line, Table, mean_and_spread, number, signed
from gvdn.study import Mode


@dataclass(frozen=True)
class Column:
    """A count: its title, its name in a record and in the paper's table, and how many digits are shown."""

    title: str
    ours: str
    paper: str
    digits: int = 0


COLUMNS = (
    Column("nodes", "nodes", "nodes"),
    Column("edges, once", "edges", ""),
    Column("edges, both directions", "edges_both_directions", "edges"),
    Column("features", "features", "features"),
    Column("classes", "classes", "classes"),
    Column("average degree, test", "average_degree_test", "avg_degree_test", 2),
    Column("edge homophily", "edge_homophily", "edge_homophily", 4),
)

NOTE = (
    "The paper counts both directions of an edge, so its number stands in that column. Where it is larger than ours, "
    "the difference is self-loops and duplicate edges, which we drop. ≠ stands where the paper's number differs from "
    "ours in the digits shown, or lies outside the 95 % interval over the splits."
)


def dataset_table(joined: Joined) -> Table:
    """A line for each graph, those that only the paper has at the end; a column for each count."""
    names = [*joined.spec.datasets, *(name for name in joined.spec.published if name not in joined.spec.datasets)]
    lines = [Line(name, [_entry(joined, name, column) for column in COLUMNS]) for name in names]
    return Table("counted", [column.title for column in COLUMNS], lines, NOTE)


def _entry(joined: Joined, dataset: str, column: Column) -> Entry:
    runs = joined.find(dataset, Mode.COUNTS)
    ours = runs.summary(f"counts.{column.ours}") if runs else None
    printed = joined.spec.published.get(dataset, {}).get(column.paper)
    return _beside(ours, None if printed is None else float(printed), column.digits)


def _beside(ours: Summary | None, paper: float | None, digits: int) -> Entry:
    """A count that is the same in every split is shown without a deviation, and must equal the paper's."""
    small = "" if paper is None else f"paper {number(paper, digits)}"
    if ours is None or paper is None:
        return Entry(NOT_RUN if ours is None else _shown(ours, digits), small)
    differs = ours.excludes(paper) if ours.std else number(ours.mean, digits) != number(paper, digits)
    small += f", {signed(ours.mean - paper, digits)} {MARK}" if differs else ""
    return Entry(_shown(ours, digits), small, marked=differs)


def _shown(ours: Summary, digits: int) -> str:
    return mean_and_spread(ours, digits) if ours.std else number(ours.mean, digits)


EXHIBITS.add("datasets", Exhibit(1, "The datasets", tables=lambda joined: [dataset_table(joined)]))
