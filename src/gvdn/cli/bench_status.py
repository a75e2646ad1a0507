"""`gvdn bench status`: with which code the records of specs were measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from gvdn.cli import options
from gvdn.cli.console import counted, print_json, print_table, say
from gvdn.cli.specs import (
    DatasetsOption,
    MethodsOption,
    RecordsOption,
    SeedsOption,
    SpecsArgument,
    chosen,
    in_records,
    records_of,
)

if TYPE_CHECKING:
    from gvdn.bench.code import CodeStatus

COLUMNS = ["dataset", "method", "runs", "present code", "other code", "unknown code", "not measured", "commits"]


def status(
    specs: SpecsArgument,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    seeds: SeedsOption = None,
    records: RecordsOption = None,
    as_json: options.Json = False,
) -> None:
    """How many runs of specs were measured with the present code, with other code, or with unknown code.

    A record keeps a hash of the code that its run depends on: the source of the method, of the perturbation and of what
    these import, the source that measures, and the settings of the catalogue. Comments and docstrings do not count.
    Records that were written before they kept it are of unknown code. The commits are those of both.
    """
    from gvdn.bench.code import code_status
    from gvdn.study import records_by_key

    loaded = chosen(specs, datasets, methods, seeds)
    there = {folder: records_by_key(folder) for folder in {records_of(spec, records) for spec in loaded}}
    found = [
        (spec, code_status(spec.tasks(methods=methods, seeds=seeds), there[records_of(spec, records)]))
        for spec in loaded
    ]
    if as_json:
        print_json([{"spec": spec.name} | _as_json(line) for spec, lines in found for line in lines])
        return
    for spec, lines in ((spec, lines) for spec, lines in found if lines):
        print_table(f"{spec.name}: {spec.title}", COLUMNS, list(_rows(lines)), text=(7,))
    every = [line for _, lines in found for line in lines]
    other, unknown = sum(line.other for line in every), sum(line.unknown for line in every)
    if other or unknown:
        way = " and ".join(["--changed"] * bool(other) + ["--unknown"] * bool(unknown))
        words = f"measured with other code: {counted(other, 'run')}, with unknown code: {unknown:,}"
        say(f"{words}; gvdn bench run {' '.join(specs)}{in_records(records)} with {way} measures them again")


def _rows(lines: Iterable[CodeStatus]) -> Iterable[list[str]]:
    for one in lines:
        counts = (one.runs, one.present, one.other, one.unknown, one.missing)
        yield [one.dataset, one.method, *(f"{count:,}" for count in counts), ", ".join(sorted(one.commits))]


def _as_json(line: CodeStatus) -> dict[str, object]:
    return asdict(line) | {"commits": sorted(line.commits)}
