"""A small spec to start from: a graph of one's own, perturbations, methods, five seeds."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gvdn.data import DATASETS, load_graph
from gvdn.errors import InvalidInput
from gvdn.files import require_output, whole_file
from gvdn.graph import random_split
from gvdn.methods import METHODS
from gvdn.perturbations import PERTURBATIONS

METHODS_TO_BEGIN_WITH = ("gvdn", "gcn", "rgcn", "mlp", "snapshot")
PERTURBATIONS_TO_BEGIN_WITH = ("random-connections", {"name": "information-sparsity", "variant": "links-only"})
MODES = ("evasion", "poisoning", "recovered", "recovered, withheld", "new", "recovered, new")

TEXT = """\
# A study of {name}: which method keeps its accuracy when the graph is perturbed?
#   gvdn bench run {file}       measures what is missing; killed, the same command goes on
#   gvdn bench show {file}      the numbers, and how far the methods differ
#   gvdn bench report {file}    one page with a summary, tables and pictures

title = {title}

# Folders of tables or npz files, seen from this file, or names of gvdn data list.
datasets = [{dataset}]

# What happens to the graph: names of gvdn perturbations, or tables with the name and its settings.
perturbations = [
{perturbations}
]

# Who is compared: names of gvdn methods. Each is measured under each perturbation.
methods = [{methods}]

# The method that the others are compared with.
reference = {reference}

# How they are measured. A method is measured in those of the modes that it supports.
#   evasion               fitted on the clean graph, asked on the perturbed one
#   poisoning             fitted on the perturbed graph
#   recovered             fitted on the clean graph, then recovered on the perturbed one
#   recovered, withheld   the same, with nothing that was stored of the victims
#   new                   the victims are absent when the method is fitted, and arrive with the perturbation
#   recovered, new        the same, and the method recovers when they arrive
modes = [{modes}]

# Split, victims and weights are drawn anew for each seed; with fewer than two there is no interval.
seeds = [0, 1, 2, 3, 4]

# One more line of the tables, with settings of its own (gvdn methods NAME shows them):
# [[row]]
# method = {reference}
# label = "wide"
# perturbation = {first}
# settings = {{ hidden = 128 }}
"""


def write_starter(
    path: Path,
    graph: str,
    *,
    methods: Sequence[str] | None = None,
    perturbations: Sequence[str] | None = None,
    force: bool = False,
) -> None:
    """Write a spec that runs as it stands; everything it names is checked first."""
    if path.suffix != ".toml":
        raise InvalidInput(f"expected a file that ends in .toml, got {path}; gvdn bench knows a spec by that")
    require_output(path, "file", force=force)
    random_split(load_graph(graph), seed=0)  # refuses a graph without labels
    chosen = [METHODS.canonical(name) for name in dict.fromkeys(methods or METHODS_TO_BEGIN_WITH)]
    under: list[Any] = [PERTURBATIONS.canonical(name) for name in dict.fromkeys(perturbations or ())]
    under = under or list(PERTURBATIONS_TO_BEGIN_WITH)
    text = _text(path, graph, chosen, under)
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def _text(path: Path, graph: str, methods: Sequence[str], perturbations: Sequence[Any]) -> str:
    own = Path(graph).exists()
    dataset = os.path.relpath(graph, path.parent) if own else DATASETS.canonical(graph)
    name = Path(graph).resolve().name if own else dataset
    first = perturbations[0]
    return TEXT.format(
        name=" ".join(name.split()),
        file=path.name,
        title=_toml(f"What helps on {name}"),
        dataset=_toml(dataset),
        perturbations="\n".join(f"    {_toml(one)}," for one in perturbations),
        methods=", ".join(map(_toml, methods)),
        reference=_toml(methods[0]),
        modes=", ".join(map(_toml, MODES)),
        first=_toml(first if isinstance(first, str) else first["name"]),
    )


def _toml(value: Any) -> str:
    """A word or a table of words as TOML writes it; JSON's strings are TOML's too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)
