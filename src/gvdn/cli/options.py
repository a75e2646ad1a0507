"""Arguments and options that several commands share, and what becomes of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gvdn.errors import InvalidInput

Graph = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset name (gvdn data list), a folder of tables, an npz file, or a table of nodes.",
    ),
]
Edges = Annotated[Path | None, typer.Option("--edges", help="The table of edges, when GRAPH is a table of nodes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn at random.")]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="FILE|KIND",
        help="A CSV of id and part (train, val, test), or random, published or time; if not given, what came with the "
        "graph, else random 10/20/70.",
    ),
]
Train = Annotated[
    float | None, typer.Option("--train", help="The share of labelled nodes to train on; at random 0.1 if not given.")
]
Val = Annotated[
    float | None,
    typer.Option("--val", help="The share of labelled nodes that choose the epoch; at random 0.2 if not given."),
]
Test = Annotated[
    float | None, typer.Option("--test", help="The share of labelled nodes to test on; the rest if not given.")
]


def _on_this_gpu(device: str) -> str:
    """A GPU that is named by its number, and is there, becomes the current one, on which kernels of Triton run."""
    number = device.removeprefix("cuda:")
    if number != device and number.isdecimal():
        import torch

        if int(number) < torch.cuda.device_count():
            torch.cuda.set_device(int(number))
    return device


Device = Annotated[str, typer.Option("--device", callback=_on_this_gpu, help="cpu, cuda or cuda:1.")]


def _reproducible(wanted: bool) -> bool:
    if wanted:
        from gvdn.nn.device import make_reproducible

        make_reproducible()
    return wanted


Reproducible = Annotated[
    bool,
    typer.Option(
        "--reproducible",
        callback=_reproducible,
        help="The same bits every time on a GPU too, which is slower; a CPU always gives them.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace an output that is there; a folder only if gvdn wrote it.")
]


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """`key=value` words as numbers, booleans or text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"expected --set KEY=VALUE, got {pair!r}")
        settings[key.strip().replace("-", "_")] = _literal(value.strip())
    return settings


def _literal(value: str) -> bool | int | float | str:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value
