"""`gvdn bench`: specs of tables and figures; what of them is measured, what is missing, and running it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gvdn.cli import options
from gvdn.cli.bench_show import report, show
from gvdn.cli.bench_status import status
from gvdn.cli.console import counted, counting, print_json, print_table, say
from gvdn.cli.parts import AddressOption
from gvdn.cli.specs import (
    DatasetsOption,
    MethodsOption,
    RecordsOption,
    SeedsOption,
    SpecsArgument,
    records_of,
    to_run,
)
from gvdn.errors import InvalidInput

app = typer.Typer(
    help="Run and draw a study: the paper's tables and figures, or a spec of your own.", no_args_is_help=True
)


@app.command()
def init(
    graph: Annotated[
        str,
        typer.Argument(metavar="GRAPH", help="A folder of tables, an npz file, or a name of gvdn data list."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The spec to write.")] = Path("study.toml"),
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="A method to begin with; may be repeated.")
    ] = None,
    perturbations: Annotated[
        list[str] | None, typer.Option("--perturbations", help="A perturbation to begin with; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the spec if it is there.")] = False,
) -> None:
    """Write a small spec to start from: a graph of your own, perturbations, methods, five seeds."""
    from gvdn.bench.starter import write_starter

    write_starter(output, graph, methods=methods, perturbations=perturbations, force=force)
    say(f"written: {output}; next: gvdn bench run {output}")


@app.command("list")
def list_specs(as_json: options.Json = False) -> None:
    """Every spec of the paper: what it shows and how many runs it takes."""
    from gvdn import paper

    found: list[dict[str, Any]] = [
        {
            "name": spec.name,
            "title": spec.title,
            "datasets": spec.datasets,
            "rows": len(spec.rows),
            "runs": sum(len(modes) for _, modes in spec.tasks()),
        }
        for spec in map(paper.load, paper.spec_names())
    ]
    if as_json:
        print_json(found)
        return
    counts = [[f"{number:,}" for number in (len(one["datasets"]), one["rows"], one["runs"])] for one in found]
    rows = [[one["name"], one["title"], *counted] for one, counted in zip(found, counts, strict=True)]
    print_table("specs", ["", "what it shows", "datasets", "rows", "runs"], rows, text=(1,))


@app.command()
def plan(
    specs: SpecsArgument,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    seeds: SeedsOption = None,
    records: RecordsOption = None,
    as_json: options.Json = False,
) -> None:
    """What specs run, how much of it is measured already, and about how long the rest takes on one worker of the kind
    that ran the others."""
    from gvdn.reports.tables import titled
    from gvdn.study import records_by_key
    from gvdn.study.plan import outlook, total

    loaded = to_run(specs, datasets, methods, seeds)
    there = {folder: records_by_key(folder) for folder in {records_of(spec, records) for spec in loaded}}
    planned = (
        (spec, outlook(spec.tasks(methods=methods, seeds=seeds), there[records_of(spec, records)])) for spec in loaded
    )
    found = [(spec, lines) for spec, lines in planned if lines]
    if as_json:
        print_json([{"spec": spec.name} | line.__dict__ for spec, lines in found for line in lines])
        return
    columns = ["dataset", "method", "runs", "measured", "failed", "time left"]
    for spec, lines in found:
        shown = [*lines, total(lines, "all")] if len(lines) > 1 else lines
        rows = [
            [titled(one.dataset), one.method, str(one.runs), str(one.measured), str(one.failed), one.time_left]
            for one in shown
        ]
        print_table(f"{spec.name}: {spec.title}", columns, rows)
    if len(found) > 1:
        whole = total((line for _, lines in found for line in lines), "all specs")
        counts = f"{counted(whole.runs, 'run')}, {whole.measured:,} measured, {whole.failed:,} failed"
        say(f"all specs: {counts}, time left {whole.time_left}; runs that specs share are counted in each")


@app.command()
def run(
    specs: SpecsArgument,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    seeds: SeedsOption = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes at a time.")] = 1,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of each process.")] = 1,
    device: options.Device = "cpu",
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    changed: Annotated[
        bool,
        typer.Option("--changed", help="Measure again what was measured with other code (see gvdn bench status)."),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            min=1,
            help="With --changed: of runs that differ in the seed alone measure so many again, and keep the records of "
            "the others where these give the same numbers.",
        ),
    ] = None,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Measure again what has a record that does not say with which code.")
    ] = False,
    records: RecordsOption = None,
    engine: Annotated[str, typer.Option("--engine", help="What runs the cells: local processes, or ray.")] = "local",
    address: AddressOption = None,
    gpus_per_run: Annotated[
        float, typer.Option("--gpus-per-run", min=0, help="The share of a GPU that each run takes, with ray.")
    ] = 0.0,
) -> None:
    """Run what is missing of one or more specs; stopped or killed, the same command goes on and repeats nothing.

    A run that fails is recorded with its error, and the others go on; with ray, one whose worker is lost is tried
    again. All methods are asked on the same perturbed graphs; those that attacks made are kept in the folder attacked
    beside the records, and can be deleted when all is run.
    """
    from gvdn.bench.cluster import run_on_ray
    from gvdn.bench.code import to_measure_again
    from gvdn.bench.confirm import confirm, keep, sampled
    from gvdn.bench.run import require_records, run_tasks
    from gvdn.cluster import require_engine
    from gvdn.nn.device import usable_device
    from gvdn.study import records_by_key

    require_engine(engine)
    if sample and not changed:
        raise InvalidInput("--sample is for --changed; give that too, or leave it out")
    if engine == "local" and (address or gpus_per_run):
        raise InvalidInput("--address and --gpus-per-run are for --engine ray; give that too, or leave them out")
    on_ray = {"address": address, "gpus": gpus_per_run} if engine == "ray" else {}
    run_all: Any = run_on_ray if on_ray else run_tasks

    loaded = to_run(specs, datasets, methods, seeds)
    if address is None:  # otherwise the cluster has the device, not this machine
        usable_device(device)
    paths = [records_of(spec, records) / f"{spec.name}.jsonl" for spec in loaded]
    for path in paths:
        require_records(path)
    _say_what_is_torn(paths)
    failures: list[str] = []
    for spec, path in zip(loaded, paths, strict=True):
        began, tasks = time.perf_counter(), list(spec.tasks(methods=methods, seeds=seeds))
        keys = {cell.key(mode) for cell, modes in tasks for mode in modes}
        there = {key: one for key, one in records_by_key(path.parent).items() if key in keys}
        other = to_measure_again(there, other=changed, unknown=False)
        again = sampled(there, other, sample) if sample else other
        with counting(spec.name) as move:
            done = run_all(
                tasks,
                path,
                workers=workers,
                threads=threads,
                device=device,
                retry=retry,
                again=again | to_measure_again(there, other=False, unknown=unknown),
                attacked=path.parent / "attacked",
                report=move,
                **on_ray,
            )
        spent, failed = time.perf_counter() - began, [one.error for one in done if one.error is not None]
        say(f"{counted(len(done), 'run')} in {spent:,.0f} s, {len(failed):,} failed; written: {path}")
        if sample:
            found = confirm(there, other, done)
            keep(path, found.records)
            were = "was" if len(again) == 1 else "were"
            words = f"of other code {len(again):,} {were} measured again, {len(found.differing):,} with other numbers"
            say(f"{words}; records that hold for the present code: {len(found.records):,} more")
        failures += failed
    if failures:
        say(f"the first failure: {failures[0]}")
        raise typer.Exit(1)


def _say_what_is_torn(paths: list[Path]) -> None:
    """Say which files of records end in the middle of one, before the runs cut that off."""
    from gvdn.study.store import torn_end

    for folder in dict.fromkeys(path.parent for path in paths):
        for path in sorted(folder.glob("*.jsonl")):
            if torn_end(path) is not None:
                say(f"{path} ends in the middle of a record; that is cut off, and its run counts as not measured")


app.command()(status)
app.command()(show)
app.command()(report)
