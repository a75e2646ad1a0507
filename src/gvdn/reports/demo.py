"""The table and the page of `gvdn demo`, drawn from the records of its spec."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gvdn.reports.joined import Joined, Runs
from gvdn.reports.losses import loss_picture
from gvdn.reports.maps import map_picture
from gvdn.reports.page import render, write_whole
from gvdn.study import Mode, Row

COLUMNS = ["perturbation", "victims", "clean", "perturbed", "recovered", "withheld", "snapshot"]

RECOVERED = (Mode.RECOVERED, Mode.MAPPED, Mode.WITH_LOSSES)
"""Modes whose scores are those of the recovered model; they differ in what else is recorded."""


def demo_table(joined: Joined) -> tuple[list[str], list[list[str]]]:
    """Columns, and a line for each row of the spec, which is one perturbation: accuracies on the victims.

    The snapshot is the prediction of the clean graph returned unchanged, so its accuracy is the clean one.
    """
    return COLUMNS, [_line(joined, row) for row in joined.spec.rows]


def write_demo(path: Path, joined: Joined, *, facts: dict[str, str], seconds: float) -> None:
    """One self-contained HTML file with the table, the loss curves and the maps of the records that have them."""
    columns, rows = demo_table(joined)
    html = render(
        files("gvdn.reports") / "demo.html.jinja",
        graph=joined.spec.datasets[0],
        method=joined.spec.rows[0].method,
        facts=facts,
        columns=columns,
        rows=rows,
        losses=loss_picture(joined) if any(record.losses for record in joined.records) else "",
        maps=map_picture(joined) if any(record.map for record in joined.records) else "",
        seconds=round(seconds),
    )
    write_whole(path, html)


def _line(joined: Joined, row: Row) -> list[str]:
    mine = {one.mode: one for one in joined.runs if one.row is row and one.records}
    recovered = next((mine[mode] for mode in RECOVERED if mode in mine), None)
    fitted = recovered or mine.get(Mode.EVASION)
    clean = _shown(fitted, "clean.accuracy")
    victims = fitted.summary("nodes") if fitted else None
    return [
        row.label,
        "–" if victims is None else f"{victims.mean:,.0f}",
        clean,
        _shown(mine.get(Mode.EVASION), "accuracy"),
        _shown(recovered, "accuracy"),
        _shown(mine.get(Mode.WITHHELD), "accuracy"),
        clean,
    ]


def _shown(runs: Runs | None, metric: str) -> str:
    summary = runs.summary(metric) if runs else None
    return "–" if summary is None else f"{summary.mean:.1f}%"
