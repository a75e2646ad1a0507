"""`gvdn demo`: train, perturb and recover on the bundled graph; one table and one page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gvdn.cli import options
from gvdn.cli.console import print_table, progress, say
from gvdn.cli.data import info
from gvdn.errors import InvalidInput
from gvdn.files import require_output

if TYPE_CHECKING:
    from gvdn.bench.experiment import Fit


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the page.")] = Path("gvdn-demo"),
    seed: options.Seed = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A few epochs only: shows the way, not the numbers.")] = False,
    force: options.Force = False,
) -> None:
    """Train on the bundled graph, perturb it four ways, recover, and show it in one table and one page."""
    from gvdn.bench.demo import demo_spec, run_in_process, what_the_diagnosis_says
    from gvdn.data import load_graph
    from gvdn.reports.demo import demo_table, why_not_yesterday, write_demo
    from gvdn.reports.joined import joined_from

    if output.is_file():
        raise InvalidInput(f"expected a folder for the page, got the file {output}; choose another")
    require_output(output / "report.html", "file", force=force)
    began = time.perf_counter()
    spec = demo_spec(seed=seed, quick=quick)
    (dataset,) = spec.datasets
    info(dataset, seed=seed)
    fits: dict[str, Fit] = {}
    joined = joined_from(spec, run_in_process(spec, progress=progress, fits=fits))
    suspicion = what_the_diagnosis_says(spec, fits)
    table = demo_table(joined)
    rows = [[line.name, *(entry.text for entry in line.entries)] for line in table.lines]
    print_table(table.title, ["perturbation", *table.columns], rows, table.note)
    say(why_not_yesterday(joined))
    say(suspicion)
    graph, page, seconds = load_graph(dataset), output / "report.html", f"{time.perf_counter() - began:.0f} seconds"
    sizes = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {graph.num_features:,} features"
    opening = (
        f"The graph {dataset} has {sizes} and {graph.num_classes} classes. {spec.rows[0].method} was trained on it, "
        f"seed {seed}, and recovered on each perturbed graph without a label. All of it took {seconds} on this machine."
    )
    write_demo(page, joined, opening=opening, suspicion=suspicion)
    say(f"{seconds}; the page with the pictures: {page}")
