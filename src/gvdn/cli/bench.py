"""`gvdn bench`: specs of tables and figures; what of them is measured, what is missing, and running it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import options
from gvdn.cli.console import counting, print_json, print_table, say
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.study import Spec

app = typer.Typer(
    help="Run and draw a study: the paper's tables and figures, or a spec of your own.", no_args_is_help=True
)

SpecArgument = Annotated[str, typer.Argument(metavar="SPEC", help="A name of gvdn bench list, or a .toml file.")]
SpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC", help="Names of gvdn bench list, .toml files, or all."),
]
RecordsOption = Annotated[
    Path, typer.Option("--records", help="The folder of records, one file per spec; specs share runs.")
]
DatasetsOption = Annotated[
    list[str] | None,
    typer.Option("--datasets", help="Only this dataset of the spec, or a graph of one's own; may be repeated."),
]
MethodsOption = Annotated[list[str] | None, typer.Option("--methods", help="Only this method; may be repeated.")]
SeedsOption = Annotated[list[int] | None, typer.Option("--seeds", help="Only this seed; may be repeated.")]

RESULTS = Path("results")


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
    records: RecordsOption = RESULTS / "runs",
    as_json: options.Json = False,
) -> None:
    """What specs run, how much of it is measured already, and about how long the rest takes on one worker of the kind
    that ran the others."""
    from gvdn.reports.tables import titled
    from gvdn.study import records_by_key
    from gvdn.study.plan import outlook, total

    loaded, there = _chosen(specs, datasets, methods), records_by_key(records)
    planned = ((spec, spec.tasks(datasets=datasets, methods=methods, seeds=seeds)) for spec in loaded)
    found = [(spec, lines) for spec, tasks in planned if (lines := outlook(tasks, there))]
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
        counts = f"{whole.runs:,} runs, {whole.measured:,} measured, {whole.failed:,} failed"
        say(f"all specs: {counts}, time left {whole.time_left}; runs that specs share are counted in each")


@app.command()
def show(spec: SpecArgument, records: RecordsOption = RESULTS / "runs", as_json: options.Json = False) -> None:
    """The means of what is measured: accuracy in % ± its spread over the seeds, and normalised entropy in %."""
    from gvdn.reports.joined import join
    from gvdn.reports.means import means
    from gvdn.reports.tables import titled

    joined = join(_load(spec), records)
    name, title, found = joined.spec.name, joined.spec.title, means(joined)
    if not found:
        way = "gvdn bench report draws what was counted" if joined.records else f"run gvdn bench run {spec} first"
        raise InvalidInput(f"no scores of {name} in {records}; {way}")
    if as_json:
        print_json([one.__dict__ for one in found])
        return
    datasets = [name for name in joined.spec.datasets if any(one.dataset == name for one in found)]
    rows: dict[str, dict[str, str]] = {}
    for one in found:
        rows.setdefault(f"{one.row} ({one.mode})", {})[one.dataset] = str(one)
    lines = [[row, *(cells.get(name, "–") for name in datasets)] for row, cells in rows.items()]
    print_table(f"{name}: {title}", ["", *map(titled, datasets)], lines)


@app.command()
def report(
    specs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SPEC]...", help="Specs of your own (.toml) to draw; the paper's if none is named."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = RESULTS / "report.html",
    records: RecordsOption = RESULTS / "runs",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the paper's main tables as Markdown instead.")
    ] = False,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Save the paper's main pictures there too, as SVG files."),
    ] = None,
    force: options.Force = False,
) -> None:
    """One page from the records alone: every table and figure, the published numbers beside ours, what was not run."""
    from gvdn.files import require_output
    from gvdn.paper.report import SAVED, markdown_tables, write_pictures, write_report
    from gvdn.reports.page import write_study

    if not records.is_dir():
        raise InvalidInput(f"{records} is not a folder of records; run gvdn bench run SPEC first")
    if specs and (markdown or pictures):
        raise InvalidInput("--markdown and --pictures are for the paper's tables; leave the specs out, or the option")
    drawn = [pictures / f"{name}.svg" for name in SAVED] if pictures else []
    for path in drawn if markdown else [output, *drawn]:
        require_output(path, "file", force=force)
    written = write_pictures(records, pictures) if pictures else []
    if markdown:
        typer.echo(markdown_tables(records))
    elif specs:
        write_study(records, output, [_load(name) for name in specs])
        written.append(output)
    else:
        write_report(records, output)
        written.insert(0, output)
    for path in written:
        say(f"written: {path}")


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
    records: RecordsOption = RESULTS / "runs",
) -> None:
    """Run what is missing of one or more specs; stopped or killed, the same command goes on and repeats nothing.

    A run that fails is recorded with its error, and the others go on. All methods are asked on the same perturbed
    graphs; those that attacks made are kept in the folder attacked beside the records, and can be deleted when all is
    run.
    """
    from gvdn.bench.modes import with_modes
    from gvdn.bench.run import run_tasks
    from gvdn.files import require_output
    from gvdn.nn.device import usable_device

    loaded = [with_modes(spec) for spec in _chosen(specs, datasets, methods)]
    usable_device(device)
    require_output(records, "shared folder")
    failures: list[str] = []
    for spec in loaded:
        path, began = records / f"{spec.name}.jsonl", time.perf_counter()
        with counting(spec.name) as move:
            done = run_tasks(
                spec.tasks(datasets=datasets, methods=methods, seeds=seeds),
                path,
                workers=workers,
                threads=threads,
                device=device,
                retry=retry,
                attacked=records / "attacked",
                report=move,
            )
        spent, failed = time.perf_counter() - began, [one.error for one in done if one.error is not None]
        told = f"{len(done):,} runs in {spent:,.0f} s, {len(failed):,} failed; written: {path}"
        say(told)
        failures += failed
    if failures:
        say(f"the first failure: {failures[0]}")
        raise typer.Exit(1)


def _load(name: str) -> Spec:
    """A spec of the paper by name, or of one's own from a file, with modes in every row."""
    from gvdn import paper
    from gvdn.study import load_spec

    spec = load_spec(Path(name)) if name.endswith(".toml") else paper.load(name)
    if all(row.modes for row in spec.rows):
        return spec
    from gvdn.bench.modes import with_modes

    return with_modes(spec)


def _chosen(specs: list[str], datasets: list[str] | None, methods: list[str] | None) -> list[Spec]:
    """The specs by name, once everything that was named is known to them."""
    from gvdn import paper
    from gvdn.data import DATASETS
    from gvdn.methods import METHODS

    loaded = [_load(name) for name in (paper.spec_names() if specs == ["all"] else dict.fromkeys(specs))]
    for name in methods or ():
        METHODS.canonical(name)
    theirs = list(dict.fromkeys(name for spec in loaded for name in spec.datasets))
    for name in datasets or theirs:
        if Path(name).exists():
            continue
        DATASETS.canonical(name)
        if name not in theirs:
            raise InvalidInput(f"{', '.join(specs)} is not run on {name}; its datasets: {', '.join(theirs)}")
    return loaded
