"""The catalogue of named graphs: every fact about a dataset, one TOML file each in `datasets/`."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from gvdn.errors import InvalidInput
from gvdn.registry import Registry, did_you_mean

Settings = Mapping[str, Mapping[str, Any]]
"""Name of a perturbation or method -> its settings."""

Source = Literal["bundled", "generated", "planetoid", "gnn-benchmark", "graphsaint", "ogb", "platonov"]
WITH_PACKAGE = ("bundled", "generated")
"""Sources that need no file beside the package."""


@dataclass(frozen=True)
class Dataset:
    """One file of the catalogue.

    Attributes:
        about: one line on what nodes and edges are.
        source: the format of its files: bundled in the package, planetoid, gnn-benchmark, GraphSAINT, the Open Graph
            Benchmark's or that of Platonov et al.; or generated, which needs no file.
        stem: the name in the publisher's file names, or of the generator.
        row_normalise: whether loading divides features by their row sum.
        licence: the licence of the data, and who states it where that is not this project.
        pyg: torch-geometric's class that downloads it, and its arguments; empty where it has none.
        url: the address of a zip archive of its files, where torch-geometric has no class for it.
        sha256: the checksum of that archive; another one is refused. Where it is not known here, the first download
            records it beside the cached graph.
        published_edges: the count that papers print, with the loops and duplicates of the raw files; of the paper's
            graphs both directions.
        hash: content hash of the graph with its features as published; a download that differs is refused. Where it is
            not known here, a download must have the counts, and what it was is recorded beside the cached graph.
        counts: published numbers of nodes, features and classes, which a download must have.
        remark: a warning that is printed wherever the name is.
        simulated_features: whether its features are simulated, over the published structure and labels.
        binary_for: perturbations that flip words, for which counts are read as present or absent.
        perturbations: the protocol's settings of a perturbation, where they are not the defaults.
        methods: settings of a method: those that the GVDN paper prints, or the authors of the method where the GVDN
            paper does not have it, or others that were chosen on validation data, as GVDN's own.
        printed: of these, the ones that the GVDN paper prints where `methods` has others.
        tuned: settings that `gvdn tune` found, with the same number of trials for every method (`benchmarks/tuned.py`
            writes them). What they do not name is as in `methods`.
    """

    name: str
    about: str
    source: Source
    stem: str
    row_normalise: bool
    licence: str = ""
    pyg: tuple[str, ...] = ()
    url: str = ""
    sha256: str | None = None
    published_edges: int | None = None
    hash: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    remark: str = ""
    simulated_features: bool = False
    binary_for: tuple[str, ...] = ()
    perturbations: Settings = field(default_factory=dict)
    methods: Settings = field(default_factory=dict)
    printed: Settings = field(default_factory=dict)
    tuned: Settings = field(default_factory=dict)

    @property
    def is_with_package(self) -> bool:
        """Whether nothing has to be downloaded."""
        return self.source in WITH_PACKAGE

    @property
    def can_be_downloaded(self) -> bool:
        return bool(self.pyg or self.url)


def read_dataset(path: Path) -> Dataset:
    """The dataset that a file describes; unknown and missing keys are refused (a test checks the settings)."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {one.name: one for one in fields(Dataset) if one.name != "name"}
    for key in content:
        if key not in known:
            raise InvalidInput(f"{path}: unknown key {key!r}{did_you_mean(key, list(known))}")
    for key, one in known.items():
        if key not in content and one.default is MISSING and one.default_factory is MISSING:
            raise InvalidInput(f"{path}: expected the key {key!r}, got none; add it")
    if content["source"] not in get_args(Source):
        known_sources = ", ".join(get_args(Source))
        raise InvalidInput(f"{path}: expected source as one of {known_sources}, got {content['source']!r}")
    content |= {name: tuple(content.get(name, ())) for name in ("pyg", "binary_for")}
    return Dataset(path.stem, **content)


DATASETS: Registry[Dataset] = Registry("dataset")
"""The bundled graphs first, then the generated ones, then by name."""

_FOLDER = Path(str(files("gvdn.data") / "datasets"))


def _order(dataset: Dataset) -> tuple[int, str]:
    here = WITH_PACKAGE.index(dataset.source) if dataset.is_with_package else len(WITH_PACKAGE)
    return here, dataset.name


for _one in sorted(map(read_dataset, _FOLDER.glob("*.toml")), key=_order):
    DATASETS.add(_one.name, _one)
