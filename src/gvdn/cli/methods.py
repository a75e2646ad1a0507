"""`gvdn methods`: what can be trained, what each was given, and which settings it has."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Annotated, Any

import typer

from gvdn.cli.console import JsonOption, console, plain_table, print_json


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="One method: its paper and settings.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods and what each of them is given, or explain one."""
    from gvdn.methods import METHODS

    chosen = list(METHODS) if name is None else [METHODS.canonical(name)]
    found = {each: _about(each) for each in chosen}
    if as_json:
        print_json(found)
    elif name is None:
        rows = [
            [
                each,
                "yes" if about["snapshot"] else "no",
                ", ".join(about["perturbed_graph"]),
                ", ".join(about["can"]) or "–",
            ]
            for each, about in found.items()
        ]
        caption = "snapshot: uses answers of the clean graph for the very nodes it must answer for"
        console().print(plain_table("methods", ["", "snapshot", "can meet the perturbed graph", "can"], rows, caption))
    else:
        about = found[chosen[0]]
        console().print(f"{chosen[0]}\n\n{_flowing(about['text'])}\n", markup=False)
        rows = [[setting, str(default)] for setting, default in about["settings"].items()]
        console().print(plain_table("settings", ["", "default"], rows))
        for dataset, changes in about["per_dataset"].items():
            console().print(
                f"{dataset}: " + ", ".join(f"{key}={value}" for key, value in changes.items()), markup=False
            )


def _flowing(text: str) -> str:
    """Paragraphs as one line each, for the terminal to break; a list keeps its lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(part if part.startswith("Args:") else " ".join(part.split()) for part in paragraphs)


def _about(name: str) -> dict[str, Any]:
    from gvdn.data import DATASETS
    from gvdn.methods import METHODS

    kind = METHODS[name]
    per_dataset = {each: known.methods.get(name, {}) for each, known in DATASETS.items()}
    return {
        "text": inspect.cleandoc(kind.__doc__ or ""),
        "snapshot": kind.capabilities.snapshot,
        "perturbed_graph": list(kind.capabilities.threat_models),
        "can": [ability for ability in ("recover", "embed", "uncertainty") if hasattr(kind, ability)],
        "settings": {field.name: field.default for field in dataclasses.fields(kind)},
        "per_dataset": {dataset: dict(changes) for dataset, changes in per_dataset.items() if changes},
    }
