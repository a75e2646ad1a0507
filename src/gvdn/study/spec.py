"""A spec: one table or figure as a TOML file, with the published numbers inside where there are some."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.limits import short
from gvdn.registry import did_you_mean
from gvdn.schema import SETTINGS, Field, Schema, checked, read_toml
from gvdn.study.cell import Cell, Mode

Task = tuple[Cell, tuple[Mode, ...]]
SWEPT = ("settings", "perturbation_settings", "split")
"""What a sweep may change."""


@dataclass(frozen=True)
class Row:
    """One line of a table, or one bar or point of a figure: a method under a perturbation."""

    method: str
    label: str = ""
    """What tables print; the method, if nothing is said."""
    group: str = ""
    """The heading that the row stands under."""
    series: str = ""
    """The curve or bar that the row belongs to; a sweep gives all of its rows the one that it was made from."""
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    split: dict[str, Any] = field(default_factory=dict)
    modes: tuple[Mode, ...] = ()
    """How it is measured; if none is named, in every mode that the method supports."""
    datasets: tuple[str, ...] = ()
    """Where, if not on all datasets of the spec."""

    def setting(self, name: str) -> Any:
        """A setting of the split, the perturbation or the method; None where the row does not change it."""
        return {**self.split, **self.perturbation_settings, **self.settings}.get(name)


@dataclass(frozen=True)
class Spec:
    """What is run for one table or figure, and what was published for it."""

    name: str
    title: str
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    about: str = ""
    left_out: str = ""
    """Why graphs of the study are not among the datasets."""
    order: int = 0
    """Its position in a page of several specs."""
    xlabel: str = ""
    """What pictures call the setting that is swept; its name, if nothing is said."""
    notes: dict[str, str] = field(default_factory=dict)
    """Name of a table, which is its metric or "counts" -> the note below it."""
    published: dict[str, Any] = field(default_factory=dict)

    def tasks(
        self, *, datasets: list[str] | None = None, methods: list[str] | None = None, seeds: list[int] | None = None
    ) -> Iterator[Task]:
        """Every cell with the modes it is run in; only some, if some are named.

        A file or folder is a graph of one's own, on which every row is run that is not bound to others; a name that is
        none of the spec's datasets is passed over.
        """
        for row, cell in self.cells(datasets=datasets, seeds=seeds):
            if not methods or row.method in methods:
                yield cell, row.modes

    def cells(self, *, datasets: list[str] | None = None, seeds: list[int] | None = None) -> Iterator[tuple[Row, Cell]]:
        """Every row on every dataset with every seed."""
        named = self.datasets if datasets is None else datasets
        for dataset in (name for name in named if name in self.datasets or Path(name).exists()):
            for seed in self.seeds if seeds is None else seeds:
                for row in self.rows:
                    if not row.datasets or dataset in row.datasets:
                        asked = (row.perturbation, row.perturbation_settings, row.settings, row.split)
                        yield row, Cell(dataset, row.method, seed, *asked)


def load_spec(path: Path) -> Spec:
    """The spec of a TOML file; its name is that of the file."""
    content = read_toml(path)
    try:
        return _spec(path.stem, content)
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}") from problem


_TEXT, _TEXTS = Field(str, optional=True), Field(list, optional=True, items=Field(str))
_SWEEP: Schema = {"of": _TEXT, "setting": Field(str), "values": Field(list, items=Field(object))}
_ROW: Schema = {
    **dict.fromkeys(("method", "label", "group", "series", "perturbation"), _TEXT),
    **dict.fromkeys(("perturbation_settings", "settings", "split"), replace(SETTINGS, optional=True)),
    **dict.fromkeys(("modes", "datasets"), _TEXTS),
    "sweep": Field(dict, optional=True),
}
_SPEC: Schema = {
    "title": Field(str),
    "datasets": Field(list, items=Field(str)),
    "seeds": Field(list, items=Field(int)),
    "methods": _TEXTS,
    **dict.fromkeys(("about", "left_out", "xlabel"), _TEXT),
    "order": Field(int, optional=True),
    "notes": Field(dict, optional=True, items=Field(str)),
    "published": Field(dict, optional=True, items=Field(dict)),
    "common": Field(dict, optional=True),
    "row": Field(list, optional=True, items=Field(dict)),
    "sweep": Field(dict, optional=True),
}
MOST_ROWS = 1000
"""Rows of a spec, with those of its sweeps: each is compared with all others."""


def _spec(name: str, content: dict[str, Any]) -> Spec:
    content = checked(content, _SPEC, "the spec")
    common, sweep = content.pop("common", {}), content.pop("sweep", None)
    named, told = content.pop("methods", []), content.pop("row", [])
    given = [checked(common | row, _ROW, "a row") for row in [*({"method": name} for name in named), *told]]
    rows = [swept for row in given for swept in _swept(row, row.pop("sweep", sweep))]
    if len(rows) > MOST_ROWS:
        raise InvalidInput(f"expected at most {MOST_ROWS:,} rows in the spec, got {len(rows):,}; make two specs of it")
    lists: dict[str, Any] = {"datasets": tuple(content["datasets"]), "seeds": tuple(content["seeds"])}
    return Spec(name=name, rows=tuple(_told_apart(rows)), **content | lists)


def _told_apart(rows: list[Row]) -> Iterator[Row]:
    """Rows of one name on the same graphs: each under its perturbation, with its settings where that is the same."""
    for row in rows:
        twins = [one for one in rows if one is not row and _alike(one, row)]
        changes: dict[str, Any] = {}
        if any(one.perturbation != row.perturbation for one in twins):
            changes["group"] = row.perturbation
        if any(one.perturbation == row.perturbation for one in twins):
            changed = {**row.split, **row.perturbation_settings, **row.settings}
            changes["label"] = ", ".join([row.label, *(f"{name} {value}" for name, value in changed.items())])
        yield replace(row, **changes)


def _alike(a: Row, b: Row) -> bool:
    together = not a.datasets or not b.datasets or bool(set(a.datasets) & set(b.datasets))
    return (
        together and (a.group, a.label) == (b.group, b.label) and (a.modes == b.modes or bool({*a.modes} & {*b.modes}))
    )


def _swept(given: dict[str, Any], sweep: dict[str, Any] | None) -> Iterator[Row]:
    """The row, or one for each value of the setting that is swept."""
    row = _row(given)
    if sweep is None:
        yield row
        return
    checked(sweep, _SWEEP, "a sweep")
    of, setting = sweep.get("of", "settings"), sweep["setting"]
    if of not in SWEPT:
        raise InvalidInput(f"expected a sweep of {' or '.join(SWEPT)}, got {short(of)}")
    for value in sweep["values"]:
        changed: dict[str, Any] = {of: getattr(row, of) | {setting: value}}
        yield replace(row, label=f"{row.label}, {setting} {value}", series=row.series or row.label, **changed)


def _row(given: dict[str, Any]) -> Row:
    modes = tuple(_mode(word) for word in given.get("modes", ()))
    if "method" not in given and modes != (Mode.COUNTS,):
        raise InvalidInput(f"expected a method in every row, got {short(given)}")
    label = given.get("label") or given.get("method", "the graph")
    rest = {"modes": modes, "datasets": tuple(given.get("datasets", ())), "label": label}
    return Row(**{"method": ""} | given | rest)


def _mode(word: str) -> Mode:
    try:
        return Mode(word)
    except ValueError as problem:
        raise InvalidInput(f"unknown mode {short(word)}{did_you_mean(word, [*map(str, Mode)])}") from problem
