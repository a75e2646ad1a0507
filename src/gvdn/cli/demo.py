"""`gvdn demo`: train, perturb and recover on the bundled graph; one table and one page."""

import time
from pathlib import Path
from typing import Annotated

import typer

from gvdn.cli import options
from gvdn.cli.console import print_table, progress, say
from gvdn.cli.data import info
from gvdn.errors import InvalidInput
from gvdn.files import require_writable

CAPTION = (
    "Accuracy on the victims. Perturbed: the model as it is, on the perturbed graph (evasion). Withheld: recovered "
    "without what was stored of the victims. Snapshot: the prediction from before the perturbation, returned."
)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the page.")] = Path("gvdn-demo"),
    seed: options.Seed = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A few epochs only: shows the way, not the numbers.")] = False,
) -> None:
    """Train on the bundled graph, perturb it three ways, recover, and show it in one table and one page."""
    from gvdn.bench.demo import demo_spec, run_in_process
    from gvdn.data import load_graph
    from gvdn.reports.demo import demo_table, write_demo
    from gvdn.reports.joined import joined_from

    if output.is_file():
        raise InvalidInput(f"expected a folder for the page, got the file {output}; choose another")
    require_writable(output)
    began = time.perf_counter()
    spec = demo_spec(seed=seed, quick=quick)
    (dataset,) = spec.datasets
    info(dataset, seed=seed)
    joined = joined_from(spec, run_in_process(spec, progress=progress))
    columns, rows = demo_table(joined)
    print_table("Perturbed, and recovered", columns, rows, CAPTION)
    graph, page = load_graph(dataset), output / "report.html"
    facts = {
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{graph.num_edges:,}",
        "features": f"{graph.num_features:,}",
        "classes": str(graph.num_classes),
        "seed": str(seed),
    }
    write_demo(page, joined, facts=facts, seconds=time.perf_counter() - began)
    say(f"{time.perf_counter() - began:.0f} seconds; the page with the pictures: {page}")
