"""`gvdn demo`: the whole story on the bundled graph, one table and one page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gvdn.cli.console import SeedOption, console, plain_table, progress
from gvdn.cli.data import info
from gvdn.errors import InvalidInput
from gvdn.files import require_writable

if TYPE_CHECKING:
    from gvdn.experiments.record import Story


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the page.")] = Path("gvdn-demo"),
    seed: SeedOption = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A few epochs only: shows the way, not the numbers.")] = False,
) -> None:
    """Train on the bundled graph, perturb it three ways, recover, and show it in one table and one page."""
    from gvdn.experiments.story import tell
    from gvdn.reports.demo import COLUMNS, cells

    if output.is_file():
        raise InvalidInput(f"expected a folder for the page, got the file {output}; choose another")
    require_writable(output)
    began = time.perf_counter()
    info("debian", seed=seed)
    story = tell("debian", seed=seed, quick=quick, progress=progress)
    rows = [cells(line) for line in story.lines]
    caption = (
        "Accuracy on the victims. Unseen: half of them hidden from recovery. Snapshot: the clean answer, returned."
    )
    console().print(plain_table("Perturbed, and brought back", list(COLUMNS), rows, caption))
    page = _write(story, output, time.perf_counter() - began)
    console().print(f"{time.perf_counter() - began:.0f} seconds; the page with the pictures: {page}")


def _write(story: Story, output: Path, seconds: float) -> Path:
    from gvdn.reports.class_maps import class_maps
    from gvdn.reports.demo import write_page
    from gvdn.reports.figures import loss_curves

    page = output / "report.html"
    write_page(
        page,
        graph=story.graph,
        facts=story.facts,
        lines=story.lines,
        losses=loss_curves(story.histories),
        maps=class_maps(story.maps, story.labels, story.class_names),
        seconds=seconds,
    )
    return page
