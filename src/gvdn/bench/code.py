"""The code that a run depends on, as a hash that its record keeps: a record with another one is of other code."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gvdn.bench.modes import IN_FRONT
from gvdn.bench.sources import digest, with_imports
from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.methods import METHODS
from gvdn.perturbations import PERTURBATIONS
from gvdn.study import Cell, Mode, Record, Task

LENGTH = 12
"""Letters of a hash."""

LEFT_OUT = (
    *("gvdn.cluster", "gvdn.drafts", "gvdn.errors", "gvdn.files", "gvdn.limits", "gvdn.registry", "gvdn.schema"),
    *("gvdn.settings", "gvdn.data", "gvdn.graph.checks", "gvdn.graph.convert", "gvdn.graph.npz", "gvdn.graph.tables"),
    *("gvdn.methods.advice", "gvdn.methods.checks", "gvdn.methods.contract", "gvdn.methods.files"),
    *("gvdn.methods.search", "gvdn.methods.stored", "gvdn.perturbations.receipt_files", "gvdn.training.progress"),
)
"""Modules that no number depends on: they check what is given, name errors, list members, read and write files. The
graph that was read has a hash of its own in the record."""

MEASURING = ("gvdn.bench.experiment", "gvdn.bench.measure", "gvdn.data.load")
"""How every run is measured; what these import is named by the cell, or is among `SCORING`."""

SCORING = ("gvdn.graph.split", "gvdn.metrics.classification", "gvdn.metrics.probabilities")

BESIDES = {
    Mode.MAPPED: "gvdn.bench.maps",
    Mode.MAPPED_BY_EPOCH: "gvdn.bench.maps",
    Mode.STREAMED: "gvdn.bench.streaming",
    Mode.POISONING_TRUSTED: "gvdn.bench.poisoned",
}
"""Mode -> the module that measures it beside those that measure every run."""

TRUSTED, IN_TURN = "gvdn.methods.trusted", "gvdn.methods.poisoned"
WHITE_BOX = "gvdn.methods.whitebox"
"""Between an attack and the model that it goes through. It is hashed without what it imports: which methods and whether
trust is attacked is named by the cell."""
SURROGATE, TARGET = "gcn", "gvdn"
"""The method that a surrogate is, and the one that an attack goes through where its cell names none."""


def code_of(cell: Cell, mode: Mode) -> str:
    """The hash of what a run depends on, at this state of the code.

    That is the source of the method, of the perturbation, of the model that an attack goes through and how it does, and
    of all that these import inside gvdn; the source that measures and scores; the catalogue's settings of dataset,
    method and perturbation. Comments, docstrings and texts of errors do not count. Versions of other packages do not
    either: a record names them.
    """
    methods = methods_of(cell, mode)
    followed = [*SCORING, *map(METHODS.home, methods)]
    alone = [*MEASURING, *([BESIDES[mode]] if mode in BESIDES else [])]
    if mode is Mode.COUNTS:
        followed.append("gvdn.graph.statistics")
    if mode in IN_FRONT or cell.perturbation_settings.get("through_trust"):
        followed.append(TRUSTED)
    if mode is Mode.POISONING_TRUSTED:
        followed.append(IN_TURN)
    if cell.is_perturbed:
        followed.append(PERTURBATIONS[cell.perturbation].plan.__module__)
        alone += ["gvdn.bench.perturbed", *([WHITE_BOX] if _through(cell) else [])]
    settings = _catalogued(cell.preset, methods, cell.perturbation, tuned=cell.is_tuned)
    return _hashed(frozenset(followed), frozenset(alone), json.dumps(settings, sort_keys=True))


def methods_of(cell: Cell, mode: Mode) -> tuple[str, ...]:
    """The method of a cell, and those that its perturbation is computed through."""
    found = [cell.method] if mode is not Mode.COUNTS else []
    return tuple(dict.fromkeys(map(METHODS.canonical, [*found, *(_through(cell) if cell.is_perturbed else [])])))


def is_present(record: Record) -> bool | None:
    """Whether a record was measured with the present code; None where it does not say with which."""
    if record.code is None:
        return None
    try:
        return record.code == code_of(record.cell, record.mode)
    except InvalidInput:  # a method, perturbation or dataset that is no longer there
        return False


@dataclass
class CodeStatus:
    """Of one dataset and method of a spec, how many runs were measured with which code."""

    dataset: str
    method: str
    runs: int = 0
    present: int = 0
    other: int = 0
    unknown: int = 0
    """Measured before records kept the hash of their code."""
    missing: int = 0
    """Not measured, or failed."""
    commits: set[str] = field(default_factory=set)
    """Of the runs that were measured with other or with unknown code."""


def code_status(tasks: Iterable[Task], records: Mapping[str, Record]) -> list[CodeStatus]:
    """Dataset by dataset and method by method."""
    lines: dict[tuple[str, str], CodeStatus] = {}
    for cell, modes in tasks:
        line = lines.setdefault((cell.dataset, cell.method), CodeStatus(cell.dataset, cell.method))
        for mode in modes:
            record = records.get(cell.key(mode))
            line.runs += 1
            if record is None or record.error is not None:
                line.missing += 1
                continue
            present = is_present(record)
            line.present += present is True
            line.other += present is False
            line.unknown += present is None
            line.commits |= {record.commit or "unknown"} if present is not True else set()
    return list(lines.values())


def to_measure_again(records: Mapping[str, Record], *, other: bool, unknown: bool) -> frozenset[str]:
    """The keys of what was measured with other code, if asked for, and with unknown code, if asked for."""
    wanted = {False: other, None: unknown, True: False}
    if not (other or unknown):
        return frozenset()
    return frozenset(key for key, one in records.items() if one.error is None and wanted[is_present(one)])


def _through(cell: Cell) -> list[str]:
    """The methods of the library that the attack of a cell goes through: one at most."""
    inputs = PERTURBATIONS[cell.perturbation].inputs
    surrogate = [SURROGATE] if "surrogate" in inputs else []
    return surrogate + ([cell.perturbation_settings.get("target", TARGET)] if "model" in inputs else [])


def _catalogued(dataset: str, methods: Iterable[str], perturbation: str, *, tuned: bool) -> dict[str, Any]:
    """What the catalogue says of a dataset that moves a number of these methods under this perturbation."""
    if dataset not in DATASETS:
        return {}
    known = DATASETS[dataset]
    protocol = PERTURBATIONS[perturbation].protocol if perturbation in PERTURBATIONS else ""
    return {
        "row_normalise": known.row_normalise,
        "simulated_features": known.simulated_features,
        "binary": perturbation in known.binary_for,
        "perturbation": known.perturbations.get(protocol or perturbation, {}),
        "methods": {
            name: {**known.methods.get(name, {}), **(known.tuned.get(name, {}) if tuned else {})} for name in methods
        },
    }


@cache
def _hashed(followed: frozenset[str], alone: frozenset[str], settings: str) -> str:
    modules = sorted(alone | with_imports(followed, LEFT_OUT))
    content = json.dumps([[(module, digest(module)) for module in modules], settings])
    return hashlib.sha256(content.encode()).hexdigest()[:LENGTH]
