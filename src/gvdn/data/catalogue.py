"""The catalogue of named graphs: every fact about a dataset, one TOML file each in `datasets/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from gvdn.registry import Registry

Settings = Mapping[str, Mapping[str, Any]]
"""Name of a perturbation or method -> its settings."""


@dataclass(frozen=True)
class Dataset:
    """One file of the catalogue.

    Attributes:
        source: where it comes from: in the package, the planetoid files, the gnn-benchmark files, GraphSAINT's files.
        stem: what the publisher's files are called.
        row_normalise: whether features are divided by their row sum when loaded, as the model is to see them.
        pyg: torch-geometric's class that downloads it, and the name it goes by there; empty where nothing does.
        published_edges: the count that papers print: both directions, with the loops and duplicates of the raw files.
        hash: content hash of the graph with its features as published; a download that differs is refused.
        remark: printed wherever the name is.
        simulated_features: whether its features are drawn here, over the published structure and labels.
        binary_for: perturbations that flip words, for which counts are read as present or absent.
        perturbations: the protocol's settings of a perturbation, where they are not the defaults.
        methods: the settings of a method for this dataset: printed by the GVDN paper, for GVDN chosen on validation
            data.
    """

    name: str
    about: str
    source: Literal["bundled", "planetoid", "gnn-benchmark", "graphsaint"]
    stem: str
    row_normalise: bool
    pyg: tuple[str, ...] = ()
    published_edges: int | None = None
    hash: str | None = None
    remark: str = ""
    simulated_features: bool = False
    binary_for: tuple[str, ...] = ()
    perturbations: Settings = field(default_factory=dict)
    methods: Settings = field(default_factory=dict)


def read_dataset(path: Path) -> Dataset:
    """The dataset that a file of the catalogue describes; its name is that of the file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    content |= {name: tuple(content.get(name, ())) for name in ("pyg", "binary_for")}
    return Dataset(path.stem, **content)


DATASETS: Registry[Dataset] = Registry("dataset")
"""The bundled graphs first, then by name."""

_FOLDER = Path(str(files("gvdn.data") / "datasets"))
for _one in sorted(map(read_dataset, _FOLDER.glob("*.toml")), key=lambda one: (one.source != "bundled", one.name)):
    DATASETS.add(_one.name, _one)
