"""The page that `gvdn demo` leaves: one table, the loss curves, three maps."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gvdn.experiments.record import Line
from gvdn.files import whole_file

COLUMNS = ("perturbation", "victims", "clean", "perturbed", "recovered", "unseen", "snapshot")


def cells(line: Line) -> list[str]:
    """A line as it is printed."""
    unseen = "–" if line.unseen is None else f"{line.unseen:.1%}"
    accuracies = [f"{value:.1%}" for value in (line.clean, line.perturbed, line.recovered)]
    return [line.perturbation, f"{line.victims:,}", *accuracies, unseen, f"{line.snapshot:.1%}"]


def write_page(
    path: Path, *, graph: str, facts: dict[str, str], lines: list[Line], losses: str, maps: str, seconds: float
) -> None:
    """One self-contained HTML file; whole or not at all."""
    import jinja2

    template = (files("gvdn.reports") / "demo.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template).render(
        graph=graph,
        facts=facts,
        columns=COLUMNS,
        rows=[cells(line) for line in lines],
        losses=losses,
        maps=maps,
        seconds=round(seconds),
    )
    with whole_file(path) as draft:
        draft.write_text(html, encoding="utf-8")
