"""Graphs as commands read and write them: with the options that name them, and with what the reading says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli.console import say
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.graph import Graph, Split

Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=KIND",
        help="What a column of the nodes is: number, plain, boolean, category, date or ignore; may be repeated.",
    ),
]
Relation = Annotated[str | None, typer.Option("--relation", help="Use only the links of this relation.")]
Format = Annotated[str, typer.Option("--format", help="How the graph is written: npz, csv or parquet.")]


def load(
    graph: str,
    edges: Path | None,
    *,
    model: Any = None,
    column: list[str] | None = None,
    relation: str | None = None,
    quiet: bool = False,
    perturbation: str = "",
) -> Graph:
    """The graph, whose table is read as that of the model was; prints what the reading says unless `quiet`."""
    from gvdn.data import load_graph

    kinds = parse_kinds(column or [])
    columns = None if model is None else columns_of(model)
    loaded = load_graph(graph, edges, columns=columns, kinds=kinds, relation=relation, perturbation=perturbation)
    if not quiet:
        tell(loaded)
    return loaded


def split_of(graph: Graph, given: str | None, *, seed: int, quiet: bool = False, **shares: float | None) -> Split:
    """The split of `--split`: a file, a kind of split, or the usual one of the graph; prints which if not at random."""
    from gvdn.graph import Split, choose_split
    from gvdn.graph.split_kinds import KINDS, RANDOM, usual_kind

    if given is not None and (given not in KINDS or Path(given).is_file()):
        if not Path(given).exists():
            known = ", ".join(KINDS)
            raise InvalidInput(f"could not read the split {given}: there is no such file; expected one, or {known}")
        return Split.load(Path(given), graph)
    found = choose_split(graph, seed=seed, kind=given, **shares)
    shared = any(share is not None for share in shares.values())
    kind = given or (RANDOM if shared else usual_kind(graph))
    if kind != RANDOM and not quiet:
        said = {"published": "as published", "time": "by time"}[kind]
        say(f"note: the nodes of {graph.name} are split {said}: {found}")
    return found


def preset_of(graph: str) -> str:
    """The dataset whose settings a method gets: none for a graph of one's own, also if its folder has a known name."""
    return "" if Path(graph).exists() else graph


def tell(graph: Graph) -> None:
    """Print what a user should know of how the graph was read."""
    for note in graph.notes:
        say(f"note: {note}")


def columns_of(model: Any) -> Any:
    """The columns that a model was trained with; where they are not known, numbers of the names of its features."""
    from gvdn.graph import Columns

    known, names = getattr(model, "columns_", None), getattr(model, "feature_names_", ())
    return known if known is not None or not names else Columns.plain(names)


def parse_kinds(pairs: list[str]) -> dict[str, str]:
    """`name=kind` words."""
    kinds = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals or not name:
            raise InvalidInput(f"expected --column NAME=KIND, got {pair!r}")
        kinds[name] = kind
    return kinds


def require_format(format: str) -> None:
    """Raise, before the work, unless a graph can be written in this format."""
    from gvdn.data.tables import FORMATS

    if format not in ("npz", *FORMATS):
        raise InvalidInput(f"expected --format npz, {' or '.join(FORMATS)}, got {format!r}")


def write(graph: Graph, folder: Path, format: str) -> None:
    """Write the graph into a folder, from which it reads back the same."""
    from gvdn.data import write_tables
    from gvdn.graph import write_npz

    if format == "npz":
        write_npz(graph, folder / "graph.npz")
    else:
        write_tables(graph, folder, format)
