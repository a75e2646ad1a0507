"""A spec: one table or figure of the paper as data, with the paper's numbers inside. Imports no torch."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from gvdn.errors import InvalidInput
from gvdn.experiments.cell import Cell, Mode
from gvdn.registry import did_you_mean

SPECS = Path(str(files("gvdn.experiments") / "specs"))
Task = tuple[Cell, tuple[Mode, ...]]


@dataclass(frozen=True)
class Row:
    """One line of a table, or one bar or curve of a figure: a method under a perturbation."""

    method: str
    label: str = ""
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    split: dict[str, Any] = field(default_factory=dict)
    modes: tuple[Mode, ...] = ()
    """How the perturbed graph is met; every way that makes sense for the method, if none is named."""
    datasets: tuple[str, ...] = ()
    """Where, if not on all datasets of the spec."""


@dataclass(frozen=True)
class Spec:
    """What is run for one table or figure, and what the paper prints for it."""

    name: str
    title: str
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    about: str = ""
    left_out: str = ""
    """Why graphs of the study are not among the datasets."""
    paper: dict[str, Any] = field(default_factory=dict)

    def tasks(
        self, *, datasets: list[str] | None = None, methods: list[str] | None = None, seeds: list[int] | None = None
    ) -> Iterator[Task]:
        """Every cell with the modes it is run in; only some, if some are named.

        A file or folder is a graph of one's own, on which every row is run that is not bound to others; a name that is
        none of the spec's datasets is passed over.
        """
        from gvdn.experiments.cell import modes_of

        named = self.datasets if datasets is None else datasets
        for dataset in (name for name in named if name in self.datasets or Path(name).exists()):
            for seed in self.seeds if seeds is None else seeds:
                for row in self.rows:
                    if (row.datasets and dataset not in row.datasets) or (methods and row.method not in methods):
                        continue
                    yield (
                        Cell(
                            dataset,
                            row.method,
                            seed,
                            row.perturbation,
                            row.perturbation_settings,
                            row.settings,
                            row.split,
                        ),
                        row.modes or modes_of(row.method),
                    )


def spec_names() -> list[str]:
    """Every spec that comes with the package."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def load_spec(name: str) -> Spec:
    """A spec by name, or from a file of one's own."""
    path = Path(name) if name.endswith(".toml") else SPECS / f"{name}.toml"
    if not path.exists():
        raise InvalidInput(f"unknown spec {name!r}{did_you_mean(name, spec_names())}, or a .toml file")
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"{path}: not a TOML file ({problem})") from problem
    try:
        return _spec(path.stem, content)
    except (InvalidInput, TypeError) as problem:
        raise InvalidInput(f"{path}: {problem}") from problem


def _spec(name: str, content: dict[str, Any]) -> Spec:
    _only(
        content,
        {"title", "about", "datasets", "left_out", "seeds", "methods", "row", "sweep", "common", "paper"},
        "the spec",
    )
    for wanted in ("title", "datasets", "seeds"):
        if wanted not in content:
            raise InvalidInput(f"expected {wanted} in the spec, got {', '.join(content)}")
    common = content.get("common", {})
    rows = [common | {"method": method} for method in content.get("methods", [])]
    rows += [common | row for row in content.get("row", [])]
    if "sweep" in content:
        rows = [swept for row in rows for swept in _sweep(row, content["sweep"])]
    return Spec(
        name,
        content["title"],
        tuple(content["datasets"]),
        tuple(content["seeds"]),
        tuple(_row(row) for row in rows),
        content.get("about", ""),
        content.get("left_out", ""),
        content.get("paper", {}),
    )


def _sweep(row: dict[str, Any], sweep: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The row once for each value of one setting."""
    _only(sweep, {"of", "setting", "values"}, "sweep")
    group, setting = sweep.get("of", "settings"), sweep["setting"]
    for value in sweep["values"]:
        label = f"{row.get('label', row['method'])}, {setting} {value}"
        yield row | {group: row.get(group, {}) | {setting: value}, "label": label}


def _row(row: dict[str, Any]) -> Row:
    if "method" not in row and row.get("modes") != ["counts"]:
        raise InvalidInput(f"expected a method in every row, got {row}")
    _only(row, {one.name for one in fields(Row)}, "a row")
    for mode in row.get("modes", []):
        if mode not in get_args(Mode):
            raise InvalidInput(f"unknown mode {mode!r}{did_you_mean(mode, list(get_args(Mode)))}")
    given: dict[str, Any] = {"method": "", "label": row.get("method", "the graph")} | row
    return Row(**(given | {name: tuple(given[name]) for name in ("modes", "datasets") if name in given}))


def _only(content: dict[str, Any], known: set[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise InvalidInput(f"unknown key {key!r} in {where}{did_you_mean(key, sorted(known))}")
