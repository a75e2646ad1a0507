"""What a spec asks for, checked before anything runs: methods, perturbations, settings, what attacks go through."""

import dataclasses
import inspect
from typing import Any

from gvdn.bench.code import SURROGATE, TARGET
from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import random_split
from gvdn.methods import METHODS, make_method
from gvdn.methods.base import Base
from gvdn.perturbations import PERTURBATIONS
from gvdn.perturbations.ranges import require_ranges
from gvdn.settings import checked_settings
from gvdn.study import Row, Spec
from gvdn.study.cell import TUNED
from gvdn.study.own_graphs import OwnGraph

THROUGH = {"target": TARGET, "through_trust": False}
"""Settings of an attack through a model that the benchmark reads, beside those of the perturbation."""
SPLIT = {"kind", *inspect.signature(random_split).parameters} - {"graph", "seed"}


def require_known(spec: Spec) -> None:
    """Raise unless all methods, perturbations and settings of a spec are known, and attacks have a gradient to follow.

    Settings have values that are right on some graph, and methods whose tuned settings are asked for were tuned. What
    depends on the graph is left to the run.
    """
    try:
        for row in spec.rows:
            _require_method(row)
            _require_perturbation(row)
            checked_settings("the split", dict.fromkeys(row.split), dict.fromkeys(sorted(SPLIT)))
        _require_made(spec)
    except InvalidInput as problem:
        raise InvalidInput(f"{spec.name}: {problem}") from problem


def _require_method(row: Row) -> None:
    if not row.method:
        return
    kind: Any = METHODS[row.method]
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    if issubclass(kind, Base):
        checked_settings(row.method, row.settings, defaults)
    else:  # one of an installed package, which knows itself of which kind a setting is
        checked_settings(row.method, dict.fromkeys(row.settings), dict.fromkeys(defaults))


def _require_perturbation(row: Row) -> None:
    given = row.perturbation_settings
    if row.perturbation == "none":
        if given:
            raise InvalidInput(f"expected no settings of the perturbation none, got {next(iter(given))}; leave it out")
        return
    member = PERTURBATIONS[row.perturbation]
    through = THROUGH if "model" in member.inputs else {}
    checked_settings(member.name, given, member.settings | through)
    require_ranges(member.name, given)
    if through:
        _require_gradient(METHODS.canonical(given.get("target", TARGET)))


def _require_made(spec: Spec) -> None:
    """Raise unless every method, and every one that an attack goes through, can be made on each of its datasets."""
    made = set()
    for dataset in spec.datasets:
        for row in (row for row in spec.rows if not row.datasets or dataset in row.datasets):
            for method, settings in _made(row):
                if (asked := (method, dataset, repr(settings))) not in made:
                    made.add(asked)
                    _require_makeable(method, dataset, spec.graphs.get(dataset), settings, spec.chosen == TUNED)


def _made(row: Row) -> list[tuple[str, dict[str, Any]]]:
    """The methods that the runs of a row make, with the settings that the row gives them."""
    found = [(METHODS.canonical(row.method), row.settings)] if row.method else []
    inputs = PERTURBATIONS[row.perturbation].inputs if row.perturbation != "none" else ()
    if "surrogate" in inputs:
        found.append((SURROGATE, {}))
    if "model" in inputs:
        found.append((METHODS.canonical(row.perturbation_settings.get("target", TARGET)), {}))
    return found


def _require_makeable(method: str, dataset: str, own: OwnGraph | None, settings: dict[str, Any], tuned: bool) -> None:
    """Raise where the run could not make the method: it was not tuned there, or a value is out of its range."""
    preset, where = (dataset, dataset) if own is None else ("", str(own.path))
    there = DATASETS[preset].tuned if preset in DATASETS else {}
    if tuned and method not in there:
        raise InvalidInput(
            f"expected methods that were tuned where chosen is {TUNED!r}, got {method} on {dataset} (tuned there: "
            f"{', '.join(there) or 'none'}); run gvdn tune {where} --method {method}, write what it finds as "
            "settings of the rows, and leave chosen out"
        )
    kind: Any = METHODS[method]
    if issubclass(kind, Base):  # what another package does where a method is made is not known
        make_method(method, preset, tuned=tuned, **settings)


def _require_gradient(target: str) -> None:
    """Raise where a method never has a gradient into links; where that depends on its settings, the run finds out."""
    kind: Any = METHODS[target]
    if issubclass(kind, Base) and kind.opaque is Base.opaque and kind.why_opaque:
        raise InvalidInput(
            f"expected a target with a gradient into links, got {target}: {kind.why_opaque}; attack a gcn instead, "
            "whose flips transfer"
        )
