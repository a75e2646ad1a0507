"""What a spec names, checked before anything runs: methods, perturbations, their settings, what attacks go through."""

import dataclasses
import inspect
from typing import Any

from gvdn.bench.code import TARGET
from gvdn.errors import InvalidInput
from gvdn.graph import random_split
from gvdn.methods import METHODS
from gvdn.methods.base import Base
from gvdn.perturbations import PERTURBATIONS
from gvdn.settings import checked_settings
from gvdn.study import Row, Spec

THROUGH = {"target": TARGET, "through_trust": False}
"""Settings of an attack through a model that the benchmark reads, beside those of the perturbation."""
SPLIT = {"kind", *inspect.signature(random_split).parameters} - {"graph", "seed"}


def require_known(spec: Spec) -> None:
    """Raise unless all methods, perturbations and settings of a spec are known, and attacks have a gradient to follow.

    Whether a value is in its range is left to the run, which may need the graph for that.
    """
    try:
        for row in spec.rows:
            _require_method(row)
            _require_perturbation(row)
            checked_settings("the split", dict.fromkeys(row.split), dict.fromkeys(sorted(SPLIT)))
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
    if through:
        _require_gradient(METHODS.canonical(given.get("target", TARGET)))


def _require_gradient(target: str) -> None:
    """Raise where a method never has a gradient into links; where that depends on its settings, the run finds out."""
    kind: Any = METHODS[target]
    if issubclass(kind, Base) and kind.opaque is Base.opaque and kind.why_opaque:
        raise InvalidInput(
            f"expected a target with a gradient into links, got {target}: {kind.why_opaque}; attack a gcn instead, "
            "whose flips transfer"
        )
