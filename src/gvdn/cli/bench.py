"""`gvdn bench`: the paper's tables and figures as specs; what is there, what is missing, and running it."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from gvdn.cli.console import DeviceOption, JsonOption, console, counting, plain_table, print_json
from gvdn.errors import InvalidInput

app = typer.Typer(help="Every table and figure of the paper, run from a spec.", no_args_is_help=True)

SpecArgument = Annotated[str, typer.Argument(metavar="SPEC", help="A name of gvdn bench list, or a .toml file.")]
SpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC", help="Names of gvdn bench list, .toml files, or all."),
]
RecordsOption = Annotated[
    Path, typer.Option("--records", help="The folder of records, one file per spec; specs share runs.")
]
DatasetsOption = Annotated[list[str] | None, typer.Option("--datasets", help="Only this dataset; may be repeated.")]
MethodsOption = Annotated[list[str] | None, typer.Option("--methods", help="Only this method; may be repeated.")]
SeedsOption = Annotated[list[int] | None, typer.Option("--seeds", help="Only this seed; may be repeated.")]

RESULTS = Path("results")


@app.command("list")
def list_specs(as_json: JsonOption = False) -> None:
    """Every spec: what it shows and how many runs it takes."""
    from gvdn.experiments.spec import load_spec, spec_names

    specs = [load_spec(name) for name in spec_names()]
    found: list[dict[str, Any]] = [
        {"name": spec.name, "title": spec.title, "datasets": spec.datasets, "rows": len(spec.rows)} for spec in specs
    ]
    if as_json:
        print_json(found)
        return
    rows = [[one["name"], one["title"], str(len(one["datasets"])), str(one["rows"])] for one in found]
    table = plain_table("specs", ["", "what it shows", "datasets", "rows"], rows)
    table.columns[1].justify = "left"
    console().print(table)


@app.command()
def plan(
    spec: SpecArgument,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    seeds: SeedsOption = None,
    records: RecordsOption = RESULTS / "runs",
    as_json: JsonOption = False,
) -> None:
    """What a spec runs, how much of it is there already, and about how long the rest takes on one worker."""
    from gvdn.experiments.plan import outlook
    from gvdn.experiments.spec import load_spec

    loaded = load_spec(spec)
    tasks = list(loaded.tasks(datasets=datasets, methods=methods, seeds=seeds))
    lines = outlook(tasks, records)
    if as_json:
        print_json([line.__dict__ for line in lines])
        return
    rows = [[one.dataset, one.method, str(one.runs), str(one.there), str(one.failed), one.time_left] for one in lines]
    columns = ["dataset", "method", "runs", "there", "failed", "time left"]
    console().print(plain_table(f"{loaded.name}: {loaded.title}", columns, rows))


@app.command()
def show(spec: SpecArgument, records: RecordsOption = RESULTS / "runs", as_json: JsonOption = False) -> None:
    """The means of what is there: accuracy in % ± its spread over the seeds, and normalised entropy in %."""
    from gvdn.experiments.spec import load_spec
    from gvdn.reports.joined import join
    from gvdn.reports.means import means

    joined = join(load_spec(spec), records)
    name, title, found = joined.spec.name, joined.spec.title, means(joined)
    if not found:
        way = "gvdn bench report draws what was counted" if joined.records else f"run gvdn bench run {name} first"
        raise InvalidInput(f"no scores of {name} in {records}; {way}")
    if as_json:
        print_json([one.__dict__ for one in found])
        return
    datasets = [name for name in joined.spec.datasets if any(one.dataset == name for one in found)]
    rows: dict[str, dict[str, str]] = {}
    for one in found:
        rows.setdefault(f"{one.row} ({one.mode})", {})[one.dataset] = str(one)
    lines = [[row, *(cells.get(name, "–") for name in datasets)] for row, cells in rows.items()]
    console().print(plain_table(f"{name}: {title}", ["", *datasets], lines))


@app.command()
def report(
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = RESULTS / "report.html",
    records: RecordsOption = RESULTS / "runs",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the main tables as Markdown instead.")] = False,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Save the main pictures there too, as SVG files."),
    ] = None,
) -> None:
    """One page from the records alone: every table and figure beside the paper's, the claims, what was not run."""
    from gvdn.experiments.spec import load_spec, spec_names
    from gvdn.reports.report import markdown_tables, write_pictures, write_report

    if not records.is_dir():
        raise InvalidInput(f"{records} is not a folder of records; run gvdn bench run SPEC first")
    specs = [load_spec(name) for name in spec_names()]
    written = write_pictures(records, pictures, specs) if pictures else []
    if markdown:
        typer.echo(markdown_tables(records, specs))
    else:
        write_report(records, output, specs)
        written.insert(0, output)
    for path in written:
        console().print(f"written: {path}")


@app.command()
def run(
    specs: SpecsArgument,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    seeds: SeedsOption = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes at a time.")] = 1,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of each process.")] = 1,
    device: DeviceOption = "cpu",
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    records: RecordsOption = RESULTS / "runs",
) -> None:
    """Run what is missing of one or more specs; stopped or killed, the same command goes on and repeats nothing.

    A run that fails is recorded with its error, and the others go on. All methods meet the same perturbed graphs; what
    an attack made is shared by all specs of one command.
    """
    from gvdn.data import DATASETS
    from gvdn.experiments.grid import run_grid
    from gvdn.experiments.spec import load_spec, spec_names
    from gvdn.methods import METHODS
    from gvdn.nn.device import usable_device

    loaded = [load_spec(name) for name in (spec_names() if specs == ["all"] else dict.fromkeys(specs))]
    usable_device(device)
    for name in methods or []:
        METHODS.canonical(name)
    for name in datasets or [name for spec in loaded for name in spec.datasets]:
        if not Path(name).exists():
            DATASETS.canonical(name)
    failures: list[str] = []
    with TemporaryDirectory(prefix="gvdn-attacked-") as attacked:
        for spec in loaded:
            path, began = records / f"{spec.name}.jsonl", time.perf_counter()
            with counting(spec.name) as move:
                done = run_grid(
                    spec.tasks(datasets=datasets, methods=methods, seeds=seeds),
                    path,
                    workers=workers,
                    threads=threads,
                    device=device,
                    retry=retry,
                    kept=Path(attacked),
                    report=move,
                )
            spent, failed = time.perf_counter() - began, [one["error"] for one in done if "error" in one]
            told = f"{len(done):,} runs in {spent:,.0f} s, {len(failed):,} failed; written: {path}"
            console().print(told, markup=False)
            failures += failed
    if failures:
        console().print(f"the first failure: {failures[0]}", markup=False)
        raise typer.Exit(1)
