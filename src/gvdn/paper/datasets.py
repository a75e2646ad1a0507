"""The dataset table: what the paper counts beside what we count."""

from gvdn.paper.exhibits import EXHIBITS
from gvdn.reports.joined import Joined
from gvdn.reports.page import Section
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, mean_and_spread, number, signed
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


def dataset_table(joined: Joined) -> Table:
    """A line for each graph, those that only the paper has at the end; a column for each count."""
    names = [*joined.spec.datasets, *(name for name in joined.spec.published if name not in joined.spec.datasets)]
    lines = [
        Line(name, [_entry(joined, name, ours, theirs, digits) for _, ours, theirs, digits in COLUMNS])
        for name in names
    ]
    return Table("counted", [title for title, *_ in COLUMNS], lines, joined.spec.notes["counts"])


def _entry(joined: Joined, dataset: str, ours: str, theirs: str, digits: int) -> Entry:
    """A count that is the same in every split is shown without a deviation, and must equal the paper's."""
    runs, paper = joined.find(dataset, Mode.COUNTS), joined.spec.published.get(dataset, {}).get(theirs)
    small = "" if paper is None else f"paper {number(float(paper), digits)}"
    counted = runs.summary(f"counts.{ours}") if runs else None
    if counted is None:
        return Entry(NOT_RUN, small)
    text = mean_and_spread(counted, digits) if counted.std else number(counted.mean, digits)
    if paper is None:
        return Entry(text)
    differs = counted.excludes(float(paper)) if counted.std else text != number(float(paper), digits)
    return Entry(text, small + (f", {signed(counted.mean - paper, digits)}" if differs else ""))


EXHIBITS.add("datasets", lambda joined: Section(joined.spec, [dataset_table(joined)]))
