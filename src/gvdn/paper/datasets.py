"""The dataset table: what the paper counts beside what we count."""

from gvdn.paper.exhibits import EXHIBITS
from gvdn.reports.joined import Joined
from gvdn.reports.page import Section
from gvdn.reports.statistics import Summary
from gvdn.reports.tables import MARK, NOT_RUN, Entry, Line, Table, mean_and_spread, number, signed
from gvdn.study import Mode

COLUMNS = (
    ("nodes", "nodes", "nodes", 0),
    ("edges, once", "edges", "", 0),
    ("edges, both directions", "edges_both_directions", "edges", 0),
    ("features", "features", "features", 0),
    ("classes", "classes", "classes", 0),
    ("average degree, test", "average_degree_test", "avg_degree_test", 2),
    ("edge homophily", "edge_homophily", "edge_homophily", 4),
)
"""Title of a count, its name in a record and in the paper's table, and how many digits are shown."""

NOTE = (
    "The paper counts both directions of an edge, so its number stands in that column. Where it is larger than ours, "
    "the difference is self-loops and duplicate edges, which we drop. ≠ stands where the paper's number differs from "
    "ours in the digits shown, or lies outside the 95 % interval over the splits."
)


def dataset_table(joined: Joined) -> Table:
    """A line for each graph, those that only the paper has at the end; a column for each count."""
    names = [*joined.spec.datasets, *(name for name in joined.spec.published if name not in joined.spec.datasets)]
    lines = [
        Line(name, [_entry(joined, name, ours, theirs, digits) for _, ours, theirs, digits in COLUMNS])
        for name in names
    ]
    return Table("counted", [title for title, *_ in COLUMNS], lines, NOTE)


def _entry(joined: Joined, dataset: str, ours: str, theirs: str, digits: int) -> Entry:
    runs = joined.find(dataset, Mode.COUNTS)
    printed = joined.spec.published.get(dataset, {}).get(theirs)
    summary = runs.summary(f"counts.{ours}") if runs else None
    return _beside(summary, None if printed is None else float(printed), digits)


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


EXHIBITS.add("datasets", lambda joined: Section(joined.spec, [dataset_table(joined)]))
