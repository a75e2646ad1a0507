"""What the commands of `gvdn bench` share: the specs that are named, and where their records are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gvdn.cli.console import counted
from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean

if TYPE_CHECKING:
    from gvdn.reports.joined import Joined
    from gvdn.study import Spec

SpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC", help="Names of gvdn bench list, .toml files, or all."),
]
RecordsOption = Annotated[
    Path | None,
    typer.Option(
        "--records",
        help="The folder of records, one file per spec; specs share runs. If not given: the folder that a spec of "
        "your own says under records, else runs beside it; results/runs for the paper's specs, and runs for these on a "
        "graph of your own.",
        show_default=False,
    ),
]
DatasetsOption = Annotated[
    list[str] | None,
    typer.Option("--datasets", help="Only this dataset of the spec, or a graph of your own; may be repeated."),
]
MethodsOption = Annotated[
    list[str] | None, typer.Option("--methods", help="Only this method of the spec; may be repeated.")
]
SeedsOption = Annotated[list[int] | None, typer.Option("--seeds", help="Only this seed of the spec; may be repeated.")]

RESULTS = Path("results")


def load(name: str) -> Spec:
    """A spec of the paper by name, or of one's own from a file, with modes in every row."""
    from gvdn import paper
    from gvdn.study import load_spec

    spec = load_spec(Path(name)) if name.endswith(".toml") else paper.load(name)
    if all(row.modes for row in spec.rows):
        return spec
    from gvdn.bench.modes import with_modes

    return with_modes(spec)


def chosen(
    specs: list[str],
    datasets: list[str] | None,
    methods: list[str] | None = None,
    seeds: list[int] | None = None,
) -> list[Spec]:
    """The specs by name, on these datasets, once everything that was named is known to them."""
    from gvdn import paper
    from gvdn.bench.contents import with_contents

    loaded = [load(name) for name in (paper.spec_names() if specs == ["all"] else dict.fromkeys(specs))]
    for spec in loaded:
        _known(spec.datasets, spec)
    theirs = list(dict.fromkeys(name for spec in loaded for name in spec.datasets))
    for name in (name for name in datasets or () if name not in theirs and not Path(name).exists()):
        _known([name], None)
        raise InvalidInput(f"{', '.join(specs)} is not run on {name}; its datasets: {', '.join(theirs)}")
    found = [spec.on(datasets) for spec in loaded]
    _require_methods(found, methods, ", ".join(specs))
    _require_seeds(found, seeds, ", ".join(specs))
    found = [with_contents(spec) for spec in found]
    if not any(True for spec in found for _ in spec.tasks(methods=methods, seeds=seeds)):
        raise InvalidInput(f"no run of {', '.join(specs)} has all of what was named; name fewer of them together")
    return found


def to_run(
    specs: list[str], datasets: list[str] | None, methods: list[str] | None, seeds: list[int] | None
) -> list[Spec]:
    """As `chosen`, with modes in every row, once all that the specs themselves name is known, too."""
    from gvdn.bench.modes import with_modes
    from gvdn.bench.named import require_known

    found = [with_modes(spec) for spec in chosen(specs, datasets, methods, seeds)]
    for spec in found:
        require_known(spec)
    return found


def records_of(spec: Spec, given: Path | None) -> Path:
    """The folder of a spec's records: the one that is given, the one that the spec says, or the usual one."""
    if given is not None:
        return given
    if spec.home is not None:
        return Path(os.path.normpath(spec.home / (spec.records or "runs")))
    return Path("runs") if spec.graphs else RESULTS / "runs"


def in_records(given: Path | None) -> str:
    """The option that a printed command needs to find the records, if it was given."""
    return "" if given is None else f" --records {given}"


def nothing_there(joined: Joined, named: str, records: Path) -> InvalidInput:
    """The error where no measured run of a spec was found: why all that were made failed, or where records were looked
    for, and how to make or give them."""
    spec, errors = joined.spec, [error for one in joined.runs for error in one.errors.values()]
    on = "".join(f" --datasets {graph.written}" for graph in spec.graphs.values()) if spec.home is None else ""
    if errors:
        got = f"{counted(len(errors), 'run')} that failed, the first with: {errors[0]}"
        way = f"repair that, and gvdn bench run {named}{on} --retry tries again"
        return InvalidInput(f"expected scores of {spec.name} in {records}, got {got}; {way}")
    where = f"no scores of {spec.name} in {records}"
    if not records.is_dir():
        where += ", which is no folder" if records.exists() else ", which does not exist"
    elif others := _other_states(spec, records):
        where += f" of {others} as it is now, only of another state of it"
    way = f"run gvdn bench run {named}{on} first, or give the folder of its records with --records"
    if spec.home is None and not spec.graphs:
        way += " (the paper's are in results/runs of a clone of the repository)"
    return InvalidInput(f"{where}; {way}")


def _other_states(spec: Spec, records: Path) -> str:
    """The graphs of one's own that the folder has records of with another content."""
    from gvdn.study import records_by_key

    there = {(record.cell.dataset, record.cell.content) for record in records_by_key(records).values()}
    names = [name for name, graph in spec.graphs.items() if {n for n, c in there if c != graph.content} & {name}]
    return ", ".join(names)


def _require_methods(specs: list[Spec], methods: list[str] | None, named: str) -> None:
    """Raise unless each method is one of the specs'."""
    from gvdn.methods import METHODS

    theirs = list(dict.fromkeys(row.method for spec in specs for row in spec.rows if row.method))
    for name in (name for name in methods or () if name not in theirs):
        METHODS.canonical(name)
        known = ", ".join(theirs) or "none"
        raise InvalidInput(f"expected a method of {named} ({known}), got {name}; name one of these, or add it there")


def _require_seeds(specs: list[Spec], seeds: list[int] | None, named: str) -> None:
    """Raise unless each seed is one that a spec has on one of its datasets: no table would count its runs."""
    theirs: dict[tuple[int, ...], list[str]] = {}
    for spec in specs:
        for dataset in spec.datasets:
            theirs.setdefault(spec.seeds_of(dataset), []).append(dataset)
    for seed in (seed for seed in seeds or () if not any(seed in known for known in theirs)):
        words = {known: ", ".join(map(str, known)) for known in theirs}
        every = [f"{words[known]} on {', '.join(dict.fromkeys(on))}" for known, on in theirs.items()]
        known = "; ".join(every) if len(theirs) > 1 else "".join(words.values())
        raise InvalidInput(f"expected a seed of {named} ({known}), got {seed}; name one of these, or add it there")


def _known(datasets: tuple[str, ...] | list[str], spec: Spec | None) -> None:
    """Raise unless each dataset is a graph of one's own or a name of the catalogue."""
    from gvdn.data import DATASETS

    for name in datasets:
        if name not in DATASETS and (spec is None or name not in spec.graphs):
            seen = f", seen from {spec.home}" if spec is not None and spec.home is not None else ""
            raise InvalidInput(
                f"unknown dataset {name!r}{did_you_mean(name, list(DATASETS))}; there is no file or folder of that name"
                f"{seen}"
            )
