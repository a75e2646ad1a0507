"""A spec: one table or figure as a TOML file, with the published numbers inside where there are some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.limits import short
from gvdn.schema import SETTINGS, Field, Schema, checked, read_toml
from gvdn.study.cell import TUNED, Cell, Mode, mode_named
from gvdn.study.own_graphs import OwnGraph, own_graphs

Task = tuple[Cell, tuple[Mode, ...]]
SWEPT = ("settings", "perturbation_settings", "split")
"""What a sweep may change."""


SAME_METHOD = "same method"
"""The `reference` of a spec whose rows are each compared with the first row of their own method."""


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
    seeds_on: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Dataset -> its seeds, where they are not those of all others."""
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
    modes: tuple[Mode, ...] = ()
    """How rows are measured that name no modes: in those of these that the method supports."""
    chosen: str = ""
    """Which of the catalogue's settings every method has: `tuned`, or its usual ones where nothing is said."""
    reference: str = ""
    """The method that the others are compared with, or `SAME_METHOD`; the first method, if nothing is said."""
    records: str = ""
    """The folder of its records, seen from the folder of the file; the usual one, if nothing is said."""
    home: Path | None = None
    """The folder of the file; None for a spec that comes with the package."""
    graphs: dict[str, OwnGraph] = field(default_factory=dict)
    """Those of the datasets that are graphs of one's own."""

    def on(self, datasets: Sequence[str] | None) -> Spec:
        """The spec on these datasets alone, if some are named.

        A file or folder is a graph of one's own, on which every row is run that is not bound to others; a name that is
        none of the spec's datasets is passed over.
        """
        if datasets is None:
            return self
        known = [name for name in dict.fromkeys(datasets) if name in self.datasets]
        mine = own_graphs([name for name in datasets if name not in known], Path())
        return replace(self, datasets=(*known, *mine), graphs=self.graphs | mine)

    def seeds_of(self, dataset: str) -> tuple[int, ...]:
        """The seeds that every row is run with on a dataset."""
        return self.seeds_on.get(dataset, self.seeds)

    def tasks(self, *, methods: list[str] | None = None, seeds: list[int] | None = None) -> Iterator[Task]:
        """Every cell with the modes it is run in; only some, if some are named.

        A seed that a dataset does not have is passed over there.
        """
        for row, cell in self.cells(seeds=seeds):
            if not methods or row.method in methods:
                yield cell, row.modes

    def cells(self, *, seeds: list[int] | None = None) -> Iterator[tuple[Row, Cell]]:
        """Every row on every dataset with every seed."""
        for dataset in self.datasets:
            where: dict[str, Any] = {"chosen": self.chosen}
            if dataset in self.graphs:
                mine = self.graphs[dataset]
                assert mine.content, f"{dataset} was not read; call gvdn.bench.contents.with_contents(spec) first"
                where |= {"content": mine.content, "path": str(mine.path)}
            for seed in (seed for seed in self.seeds_of(dataset) if seeds is None or seed in seeds):
                for row in self.rows:
                    if not row.datasets or dataset in row.datasets:
                        asked = (row.perturbation, row.perturbation_settings, row.settings, row.split)
                        yield row, Cell(dataset, row.method, seed, *asked, **where)


def load_spec(path: Path, *, own: bool = True) -> Spec:
    """The spec of a TOML file; its name is that of the file.

    A dataset that is a file or folder, seen from the folder of the spec, is a graph of one's own; a spec that comes
    with the package has none.
    """
    content = read_toml(path)
    try:
        return _spec(path.stem, content, path.parent if own else None)
    except InvalidInput as problem:
        raise InvalidInput(f"{path}: {problem}") from problem


_TEXT, _TEXTS = Field(str, optional=True), Field(list, optional=True, items=Field(str))
_SWEEP: Schema = {"of": _TEXT, "setting": Field(str), "values": Field(list, items=Field(object))}
_ROW: Schema = {
    **dict.fromkeys(("method", "label", "group", "series", "perturbation"), _TEXT),
    **dict.fromkeys(("perturbation_settings", "settings", "split"), replace(SETTINGS, optional=True)),
    **dict.fromkeys(("methods", "modes", "datasets"), _TEXTS),
    "sweep": Field(dict, optional=True),
}
_SPEC: Schema = {
    "title": Field(str),
    "datasets": Field(list, items=Field(str)),
    "seeds": Field(list, items=Field(int)),
    "seeds_on": Field(dict, optional=True, items=Field(list, items=Field(int))),
    "methods": _TEXTS,
    **dict.fromkeys(("about", "left_out", "xlabel", "reference", "chosen", "records"), _TEXT),
    "modes": _TEXTS,
    "perturbations": Field(list, optional=True),
    "order": Field(int, optional=True),
    "notes": Field(dict, optional=True, items=Field(str)),
    "published": Field(dict, optional=True, items=Field(dict)),
    "common": Field(dict, optional=True),
    "row": Field(list, optional=True, items=Field(dict)),
    "sweep": Field(dict, optional=True),
}
MOST_ROWS = 1000
"""Rows of a spec, with those of its sweeps: each is compared with all others."""


def _spec(name: str, content: dict[str, Any], home: Path | None) -> Spec:
    content = checked(content, _SPEC, "the spec")
    common, sweep = content.pop("common", {}), content.pop("sweep", None)
    named = _crossed(content.pop("methods", []), content.pop("perturbations", []))
    given = [checked(common | row, _ROW, "a row") for row in [*named, *content.pop("row", [])]]
    each = [one for row in given for one in _for_each_method(row)]
    rows = [swept for row in each for swept in _swept(row, row.pop("sweep", sweep))]
    if len(rows) > MOST_ROWS:
        raise InvalidInput(f"expected at most {MOST_ROWS:,} rows in the spec, got {len(rows):,}; make two specs of it")
    if not rows:
        raise InvalidInput("expected methods or a [[row]] in the spec, got neither; name at least one method")
    if not content["datasets"]:
        raise InvalidInput("expected at least one dataset in the spec, got none; name one, or a folder of tables")
    lists: dict[str, Any] = {"datasets": tuple(content["datasets"]), "seeds": _seeds(content["seeds"], "seeds")}
    on = content.get("seeds_on", {})
    lists["seeds_on"] = {name: _seeds(seeds, f"seeds_on.{short(name)}") for name, seeds in on.items()}
    lists["modes"] = tuple(map(mode_named, content.get("modes", ())))
    spec = Spec(name=name, rows=tuple(_told_apart(rows)), home=home, **content | lists)
    if spec.chosen not in ("", TUNED):
        raise InvalidInput(f"expected chosen as {TUNED!r} in the spec, got {short(spec.chosen)}")
    if unknown := [name for name in spec.seeds_on if name not in spec.datasets]:
        raise InvalidInput(f"expected datasets of the spec in seeds_on, got {short(unknown[0])}")
    if spec.reference and spec.reference not in (SAME_METHOD, *(row.method for row in spec.rows)):
        either = f"one of the methods of the spec, or {SAME_METHOD!r}"
        raise InvalidInput(f"expected reference as {either}, got {short(spec.reference)}")
    return spec if home is None else _with_own_graphs(spec, home)


def _seeds(given: list[int], field: str) -> tuple[int, ...]:
    """Each seed once; there is at least one, and none is negative."""
    if not given:
        raise InvalidInput(f"expected at least one seed as {field} of the spec, got none; write for example [0, 1, 2]")
    if min(given) < 0:
        raise InvalidInput(f"expected seeds of at least 0 as {field} of the spec, got {min(given)}; give another one")
    return tuple(dict.fromkeys(given))


def _crossed(methods: list[str], perturbations: list[Any]) -> list[dict[str, Any]]:
    """A row for each of the methods, under each of the perturbations where some are named.

    A perturbation is a name, or a table with its name and its settings.
    """
    named = [{"name": one} if isinstance(one, str) else one for one in perturbations]
    under: list[dict[str, Any]] = []
    for one in named:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise InvalidInput(f"expected a perturbation as a name or a table with its name, got {short(one)}")
        changes = {setting: value for setting, value in one.items() if setting != "name"}
        heading = ", ".join([one["name"], *(f"{setting} {value}" for setting, value in changes.items())])
        group = {"group": heading} if len(named) > 1 else {}
        under.append({"perturbation": one["name"], "perturbation_settings": changes} | group)
    return [{"method": method} | one for one in under or [{}] for method in methods]


def _for_each_method(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The row, or one for each of its `methods`."""
    rest = {name: value for name, value in given.items() if name != "methods"}
    if "methods" not in given:
        return [rest]
    if "method" in given or not given["methods"]:
        raise InvalidInput(f"expected a method or a list of methods in a row, got {short(given)}")
    return [{**rest, "method": method} for method in given["methods"]]


def _with_own_graphs(spec: Spec, home: Path) -> Spec:
    """The spec with those of its datasets by name that are files or folders, seen from its own folder."""
    found = own_graphs(spec.datasets, home)
    names = {graph.written: name for name, graph in found.items()}
    rows = tuple(replace(row, datasets=tuple(names.get(one, one) for one in row.datasets)) for row in spec.rows)
    seeds_on = {names.get(one, one): seeds for one, seeds in spec.seeds_on.items()}
    datasets = tuple(names.get(one, one) for one in spec.datasets)
    return replace(spec, datasets=datasets, seeds_on=seeds_on, rows=rows, graphs=found)


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
    modes = tuple(map(mode_named, given.get("modes", ())))
    if "method" not in given and modes != (Mode.COUNTS,):
        raise InvalidInput(f"expected a method in every row, got {short(given)}")
    label = given.get("label") or given.get("method", "the graph")
    rest = {"modes": modes, "datasets": tuple(given.get("datasets", ())), "label": label}
    return Row(**{"method": ""} | given | rest)
