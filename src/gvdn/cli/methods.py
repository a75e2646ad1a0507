"""`gvdn methods` and `gvdn perturbations`: what there is, what each can do, and which settings it has."""

import dataclasses
import inspect
from typing import Annotated, Any

import typer

from gvdn.cli import options
from gvdn.cli.console import flowing, print_json, print_table, say


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="One method: its paper and settings.")] = None,
    as_json: options.Json = False,
) -> None:
    """List the methods and what each of them can do, or explain one."""
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
                ", ".join(about["threat_models"]),
                ", ".join(about["can"]) or "–",
            ]
            for each, about in found.items()
        ]
        caption = (
            "snapshot: uses predictions of the clean graph for the very nodes it must predict; evasion: the graph is "
            "perturbed after training; poisoning: before it"
        )
        print_table("methods", ["", "snapshot", "threat models", "can"], rows, caption)
    else:
        about = found[chosen[0]]
        say(f"{chosen[0]}\n\n{flowing(about['text'])}\n")
        _print_settings(about["settings"])
        for dataset, changes in about["per_dataset"].items():
            printed = about["printed"].get(dataset)
            say(f"{dataset}: {_pairs(changes)}" + (f" (the paper prints {_pairs(printed)})" if printed else ""))


def perturbations(
    name: Annotated[
        str | None, typer.Argument(metavar="[PERTURBATION]", help="One perturbation: what it does and its settings.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the perturbations that gvdn perturb --kind takes, or explain one."""
    from gvdn.perturbations import PERTURBATIONS

    chosen = list(PERTURBATIONS) if name is None else [PERTURBATIONS.canonical(name)]
    found = {each: PERTURBATIONS[each] for each in chosen}
    if as_json:
        print_json(
            {
                each: {"text": _text(one.plan), "inputs": list(one.inputs), "settings": one.settings}
                for each, one in found.items()
            }
        )
    elif name is None:
        rows = [[each, one.summary] for each, one in found.items()]
        print_table(
            "perturbations", ["", "what it does"], rows, "gvdn perturbations NAME lists the settings", text=(1,)
        )
    else:
        one = found[chosen[0]]
        say(f"{chosen[0]}\n\n{flowing(_text(one.plan))}\n")
        _print_settings(one.settings)


def _print_settings(settings: dict[str, Any]) -> None:
    rows = [[setting, "–" if default is None else str(default)] for setting, default in settings.items()]
    print_table("settings", ["", "default"], rows)


def _pairs(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _text(documented: Any) -> str:
    return inspect.cleandoc(documented.__doc__ or "")


def _about(name: str) -> dict[str, Any]:
    from gvdn.data import DATASETS
    from gvdn.methods import METHODS

    kind: Any = METHODS[name]
    can = kind.capabilities
    abilities = {"recover": can.recovers, "embed": can.embeds, "uncertainty": can.uncertainty}
    abilities["diagnose"] = can.diagnoses
    return {
        "text": _text(kind),
        "snapshot": can.snapshot,
        "threat_models": list(can.threat_models),
        "can": [ability for ability, there in abilities.items() if there],
        "settings": {field.name: field.default for field in dataclasses.fields(kind)},
        "per_dataset": {each: dict(known.methods[name]) for each, known in DATASETS.items() if name in known.methods},
        "printed": {each: dict(known.printed[name]) for each, known in DATASETS.items() if name in known.printed},
    }
