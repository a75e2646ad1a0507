"""The table and the page of `gvdn demo`, drawn from the records of its spec."""

from dataclasses import replace
from pathlib import Path

from gvdn.reports.joined import Joined, Runs
from gvdn.reports.page import section, write_page
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table
from gvdn.study import Mode, Row

COLUMNS = ["victims", "clean", "perturbed", "recovered", "withheld", "snapshot"]

RECOVERED = (Mode.RECOVERED, Mode.MAPPED, Mode.WITH_LOSSES)
"""Modes whose scores are those of the recovered model; they differ in what else is recorded."""

NOTE = (
    "Accuracy on the victims. Perturbed: the model as it is, on the perturbed graph (evasion). Withheld: recovered "
    "without what was stored of the victims. Snapshot: the prediction from before the perturbation, returned."
)


def demo_table(joined: Joined) -> Table:
    """A line for each row of the spec, which is one perturbation: accuracies on the victims.

    The snapshot is the prediction of the clean graph returned unchanged, so its accuracy is the clean one.
    """
    return Table("Perturbed, and recovered", COLUMNS, [_line(joined, row) for row in joined.spec.rows], NOTE)


def write_demo(path: Path, joined: Joined, *, opening: str) -> None:
    """The page of any study, with an opening sentence of its own and the table first."""
    drawn = section(joined)
    first = replace(drawn, tables=[demo_table(joined), *drawn.tables])
    write_page(path, {joined.spec.name: joined}, [first], title=joined.spec.title, opening=opening)


def _line(joined: Joined, row: Row) -> Line:
    mine = {one.mode: one for one in joined.runs if one.row is row and one.records}
    recovered = next((mine[mode] for mode in RECOVERED if mode in mine), None)
    fitted = recovered or mine.get(Mode.EVASION)
    victims, clean = fitted.summary("nodes") if fitted else None, _shown(fitted, "clean.accuracy")
    there = [_shown(runs, "accuracy") for runs in (mine.get(Mode.EVASION), recovered, mine.get(Mode.WITHHELD))]
    texts = [NOT_RUN if victims is None else f"{victims.mean:,.0f}", clean, *there, clean]
    return Line(row.label, [Entry(text) for text in texts])


def _shown(runs: Runs | None, metric: str) -> str:
    summary = runs.summary(metric) if runs else None
    return NOT_RUN if summary is None else f"{summary.mean:.1f}%"
