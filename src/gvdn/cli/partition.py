"""`gvdn partition` and `gvdn join`: from a graph to parts, and from a model of parts to one that needs none."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from gvdn.cli import graphs, options
from gvdn.cli import parts as parts_options
from gvdn.cli.console import print_json, print_table, say, waiting
from gvdn.errors import InvalidInput

PartsOutput = Annotated[Path, typer.Option("--output", "-o", help="The folder to write the parts into.")]
LikeOption = Annotated[
    Path | None,
    typer.Option(
        "--like", help="An earlier partition, whose nodes stay in their parts, as recover and predict need it."
    ),
]


def partition(
    graph: options.Graph,
    output: PartsOutput,
    parts: Annotated[int | None, typer.Option("--parts", min=1, help="How many parts; 8, or those of --like.")] = None,
    partitioner: Annotated[
        str, typer.Option("--partitioner", help="metis, stream, or auto: metis where pymetis is installed.")
    ] = "auto",
    like: LikeOption = None,
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Who reads tables of Parquet files: local, or ray.")
    ] = "local",
    workers: Annotated[int, typer.Option("--workers", min=1, help="Tasks of Ray at a time.")] = 1,
    address: parts_options.AddressOption = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Divide a large graph into parts on the disk: partitioned Parquet with a manifest, which gvdn train takes.

    A table may also be a folder of Parquet files: GRAPH/nodes and GRAPH/edges, or a folder for each of the two.

    Tables are read piece by piece: of all nodes at once only ids, labels and one column are held. The partitioner
    stream never holds the links; metis does, and cuts fewer of them.
    """
    from gvdn.files import require_output
    from gvdn.parts.manifest import read_manifest
    from gvdn.parts.partition import partition as divide
    from gvdn.parts.ray_source import RayTableSource
    from gvdn.parts.source import source_of

    require_output(output, "folder", force=force)
    before = None if like is None else read_manifest(like)
    columns = None if before is None else before.columns
    source = source_of(
        graph,
        edges,
        columns=columns,
        kinds=graphs.parse_kinds(column or []),
        relation=relation,
        engine=engine,
        workers=workers,
        address=address,
    )
    number = parts or (8 if before is None else before.parts)
    with source.session() if isinstance(source, RayTableSource) else nullcontext():
        made = divide(source, output, number, partitioner=partitioner, like=like, force=force)
    found = made.report()
    if as_json:
        print_json(found | {"output": str(output), "notes": list(made.notes)})
        return
    for note in made.notes:
        say(f"note: {note}")
    counts = [[getattr(share, key) for key in ("nodes", "links", "cut", "halo")] for share in made.shares]
    rows = [[f"part {number}", *(f"{one:,}" for one in share)] for number, share in enumerate(counts)]
    print_table(
        f"{made.name}: {made.nodes:,} nodes and {made.edges:,} links in {made.parts} parts",
        ["", "nodes", "links", "leave it", "halo"],
        rows,
        f"by {made.partitioner}; the largest part has {made.balance:.2f} times the mean; "
        f"{found['cut_share']:.1%} of the links are cut",
    )
    say(f"written: {output}")


def join(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that was trained on parts.")],
    graph: options.Graph,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the model into.")],
    edges: options.Edges = None,
    force: options.Force = False,
) -> None:
    """Make a model that needs no parts of one that was trained on them, given the whole clean graph.

    It gives the same predictions, and all other commands take it: also update and threshold, which parts do not have.
    """
    from gvdn.files import require_output
    from gvdn.methods.decisions import calibrated
    from gvdn.parts.joining import join as joined
    from gvdn.parts.model import is_parts_model, read_model

    require_output(output, "folder", force=force)
    if (model / "model.json").is_file() and not is_parts_model(model):
        raise InvalidInput(f"{model} was not trained on parts, so that it can be used as it is; join nothing")
    parts = read_model(model)
    loaded = graphs.load(graph, edges, model=_Columns(parts.columns, parts.feature_names))
    whole = calibrated(joined(parts, loaded), loaded)
    with waiting():
        whole.save(output, force=force)
    say(f"written: {output}")


class _Columns:
    """What the reading of a graph needs of a model."""

    def __init__(self, columns: Any, names: tuple[str, ...]) -> None:
        self.columns_, self.feature_names_ = columns, names
