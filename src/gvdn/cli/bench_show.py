"""`gvdn bench show` and `gvdn bench report`: what was measured, in the terminal and as a page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import options
from gvdn.cli.console import counted, print_json, print_table, say
from gvdn.cli.specs import RESULTS, DatasetsOption, RecordsOption, chosen, in_records, nothing_there, records_of
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.reports.comparison import Difference
    from gvdn.reports.joined import Joined
    from gvdn.reports.means import Mean
    from gvdn.reports.tables import Entry
    from gvdn.study import Spec


def show(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A name of gvdn bench list, or a .toml file.")],
    datasets: DatasetsOption = None,
    records: RecordsOption = None,
    as_json: options.Json = False,
) -> None:
    """What is measured: accuracy in % ± its spread over the seeds and normalised entropy in %, and how far the methods
    differ, with 95 % intervals and paired tests."""
    from gvdn.reports.account import remark
    from gvdn.reports.comparison import differences
    from gvdn.reports.joined import join
    from gvdn.reports.means import means

    (wanted,) = chosen([spec], datasets)
    folder = records_of(wanted, records)
    joined = join(wanted, folder)
    found, compared = means(joined), differences(joined)
    if not found and joined.records:
        raise InvalidInput(f"no scores of {wanted.name} in {folder}; gvdn bench report {spec} draws what was counted")
    if not found:
        raise nothing_there(joined, spec, folder)
    if as_json:
        about = {"spec": wanted.name, "records": str(folder)}
        lists = {"means": [asdict(one) for one in found], "differences": [_as_json(one) for one in compared]}
        print_json(about | lists)
        return
    _print_means(joined, found)
    _print_differences(joined)
    if told := remark(joined):
        say(told)
    absent, failed = (sum(len(part) for part in parts) for parts in _not_measured(joined))
    if absent or failed:
        words = f"{counted(absent, 'run')} {'is' if absent == 1 else 'are'} missing and {failed:,} failed"
        also = ", with --retry also what failed" if failed else ""
        say(f"{words}: gvdn bench run {spec}{in_records(records)} runs what is missing{also}")


def report(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPEC]...", help="Specs to draw (.toml, or names); all of the paper's if none is named."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The page to write (.html), or a folder for report.html. If not given: beside a spec of your own, and "
            "results/report.html for the paper.",
            show_default=False,
        ),
    ] = None,
    datasets: DatasetsOption = None,
    records: RecordsOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the main tables as Markdown instead.")] = False,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Save the main pictures there too, as SVG files."),
    ] = None,
    force: options.Force = False,
) -> None:
    """One page from the records alone: a summary, every table and figure, published numbers beside ours, what was not
    run."""
    from gvdn.files import require_output
    from gvdn.paper import report as paper
    from gvdn.reports import page
    from gvdn.reports.joined import join

    loaded = None if specs is None else chosen(specs, datasets)
    where = _page(output, loaded)
    if not markdown:
        require_output(where, "file", force=force)
    if pictures:
        require_output(pictures, "shared folder")
    if specs is None or loaded is None:
        folder = records or RESULTS / "runs"
        if datasets:
            raise InvalidInput("--datasets needs a spec; name one, such as gvdn bench report SPEC --datasets GRAPH")
        if not folder.is_dir():
            raise InvalidInput(
                f"{folder} is not a folder of records; run gvdn bench run SPEC first, or give --records FOLDER (the "
                "paper's are in results/runs of a clone of the repository)"
            )
        study = paper.study_of(folder)
        draw: Any = (paper.markdown_tables, paper.write_report, paper.write_pictures)
    else:
        study, names = {}, [one.name for one in loaded] if specs == ["all"] else dict.fromkeys(specs)
        for one, named in zip(loaded, names, strict=True):
            folder = records_of(one, records)
            study[one.name] = join(one, folder)
            if not study[one.name].records:
                raise nothing_there(study[one.name], named, folder)
        draw = (page.markdown_study, page.write_study, page.write_study_pictures)
    tables, write, save = draw
    written = save(study, pictures) if pictures else []
    if markdown:
        typer.echo(tables(study))
    else:
        write(study, where)
        written.insert(0, where)
    for path in written:
        say(f"written: {path}")


def _page(output: Path | None, specs: list[Spec] | None) -> Path:
    """The page to write: as given, in a folder that is given, or where it belongs."""
    if output is not None:
        where = output if output.suffix in (".html", ".htm") else output / "report.html"
    elif specs is None:
        where = RESULTS / "report.html"
    else:
        name = specs[0].name if len(specs) == 1 else "report"
        where = (specs[0].home or Path()) / f"{name}.html"
    return where


def _print_means(joined: Joined, found: list[Mean]) -> None:
    from gvdn.reports.tables import titled

    datasets = [name for name in joined.spec.datasets if any(one.dataset == name for one in found)]
    rows: dict[str, dict[str, str]] = {}
    for one in found:
        rows.setdefault(f"{one.row} ({one.mode})", {})[one.dataset] = str(one)
    lines = [[row, *(cells.get(name, "–") for name in datasets)] for row, cells in rows.items()]
    print_table(f"{joined.spec.name}: {joined.spec.title}", ["", *map(titled, datasets)], lines)


def _print_differences(joined: Joined) -> None:
    from gvdn.reports.comparison import difference_tables

    for table in difference_tables(joined):
        lines = []
        for line in table.lines:
            cells = [_in_one_line(entry) for entry in line.entries]
            lines.append([f"{line.group}: {line.name}" if line.group else line.name, *cells])
        print_table(table.title, ["points of accuracy", *table.heads], lines)


def _in_one_line(entry: Entry) -> str:
    """The difference, its interval and p, and in which mode the other method was taken."""
    mode, *rest = entry.small.split("\n")
    return " ".join([entry.text, *rest, f"({mode})"]) if mode else entry.text


def _not_measured(joined: Joined) -> tuple[list[list[int]], list[dict[int, str]]]:
    return [one.missing for one in joined.runs], [one.errors for one in joined.runs]


def _as_json(one: Difference) -> dict[str, Any]:
    return {
        "dataset": one.dataset,
        "group": one.group,
        "row": one.ours.row.label,
        "mode": one.ours.mode,
        "minus": one.theirs.row.label,
        "its_mode": one.theirs.mode,
        "seeds": one.pair.difference.n,
        "mean": one.pair.difference.mean,
        "low": one.pair.difference.low,
        "high": one.pair.difference.high,
        "p": one.pair.p,
        "p_holm": one.p,
        "p_level_holm": one.p_level,
        "p_sign_flip": one.pair.sign_flip,
    }
