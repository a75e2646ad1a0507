"""The reproduction report: one page, pictures and Markdown tables, drawn from specs and records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from gvdn.files import whole_file
from gvdn.reports.claims import judge
from gvdn.reports.joined import Joined, SpecLike, distinct, join_all
from gvdn.reports.pictures import picture
from gvdn.reports.sections import sections
from gvdn.reports.svg import standalone
from gvdn.reports.table2 import compact_table2
from gvdn.reports.table3 import compact_table3
from gvdn.reports.tables import Entry, Line, Table
from gvdn.reports.verdicts import Claim

FLICKR = (
    "Flickr: its 500 features could not be obtained, so none of its numbers were measured and the paper's Flickr "
    "columns have no counterpart. flickr-structure is the real structure and labels of that graph with simulated "
    "features; no number of it stands beside one of the paper's."
)

SAVED = ("table2", "table3", "figure5")
"""The pictures that a README shows."""


def write_report(records: Path, output: Path, specs: Sequence[SpecLike]) -> None:
    """One self-contained HTML file; the same records give the same bytes."""
    import jinja2

    study = join_all(specs, records)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    claims = judge(study)
    html = environment.from_string(_asset("report.html.jinja")).render(
        claims=claims,
        verdicts=Counter(claim.verdict for claim in claims),
        sections=sections(study),
        map_script=_asset("map.js"),
        missing=missing_runs(study),
        failures=failures(study),
        left_out=graphs_left_out(study),
        flickr=FLICKR,
        origins=origins(study),
        runs=len({record["key"] for joined in study.values() for record in joined.records}),
        asked=len({cell.key(mode) for spec in specs for cell, modes in spec.tasks() for mode in modes}),
    )
    _write(output, html)


def write_pictures(records: Path, folder: Path, specs: Sequence[SpecLike]) -> list[Path]:
    """The pictures of Tables 2 and 3 and of Figure 5 as SVG files on white: those that have records, by their paths."""
    study = join_all([spec for spec in specs if spec.name in SAVED], records)
    drawn = {folder / f"{name}.svg": picture(study[name]) for name in SAVED if name in study}
    for path, svg in drawn.items():
        if svg is not None:
            _write(path, standalone(svg))
    return [path for path, svg in drawn.items() if svg is not None]


def markdown_tables(records: Path, specs: Sequence[SpecLike]) -> str:
    """Tables 2 and 3 (accuracy) and the verdicts, short enough for a README; the page has the whole of it."""
    study = join_all(specs, records)
    compact = {"table2": compact_table2, "table3": compact_table3}
    found = [draw(study[name]) for name, draw in compact.items() if name in study]
    return "\n".join(table.markdown() for table in [*found, claims_table(judge(study))])


def claims_table(claims: list[Claim]) -> Table:
    lines = [Line(str(one.number), [Entry(one.where), Entry(one.says), Entry(one.verdict)]) for one in claims]
    return Table("The paper's claims", ["where", "what the paper says", "verdict"], lines, text=True)


def missing_runs(study: dict[str, Joined]) -> Table | None:
    """Spec by spec and dataset by dataset, how many runs have no record, and which rows lack any."""
    lines = []
    for joined in study.values():
        for dataset in joined.spec.datasets:
            mine = [one for one in joined.runs if one.dataset == dataset]
            absent = sum(len(one.missing) for one in mine)
            if absent:
                of = sum(len(one.missing) + len(one.records) + len(one.errors) for one in mine)
                bare = distinct(one.row.label for one in mine if one.missing)
                rows = "all rows" if absent == of else ", ".join(bare[:8]) + (" …" if len(bare) > 8 else "")
                lines.append(Line(dataset, [Entry(f"{absent:,} of {of:,}"), Entry(rows)], joined.spec.name))
    return Table("Runs without a record", ["missing", "rows"], lines, text=True) if lines else None


def graphs_left_out(study: dict[str, Joined]) -> Table | None:
    """Which graphs that other specs are run on a spec leaves out, and why."""
    all_graphs = distinct(dataset for joined in study.values() for dataset in joined.spec.datasets)
    lines = []
    for joined in study.values():
        absent = [dataset for dataset in all_graphs if dataset not in joined.spec.datasets]
        if absent:
            lines.append(Line(joined.spec.name, [Entry(", ".join(absent)), Entry(joined.spec.left_out)]))
    return Table("Graphs that a spec leaves out", ["graphs", "why"], lines, text=True) if lines else None


def failures(study: dict[str, Joined]) -> Table | None:
    """Every failure with its error; the same error of several seeds stands once."""
    lines = []
    for joined in study.values():
        for one in joined.runs:
            for error in distinct(error for _, error in sorted(one.errors.items())):
                seeds = ", ".join(str(seed) for seed, text in sorted(one.errors.items()) if text == error)
                where = f"{one.dataset}, {one.row.label}, {one.mode}"
                lines.append(Line(where, [Entry(seeds), Entry(error)], joined.spec.name))
    return Table("Runs that failed", ["seeds", "error"], lines, text=True) if lines else None


def origins(study: dict[str, Joined]) -> Table:
    """Where the numbers come from: devices, versions, commits and seeds, with the number of records of each."""

    def counted(joined: Joined, name: str) -> Entry:
        found = Counter(str(record.get(name, "unknown")) for record in joined.records)
        return Entry(", ".join(f"{value} ({count:,})" for value, count in sorted(found.items())) or "–")

    names = ("device", "gvdn", "torch", "python", "commit")
    lines = []
    for joined in study.values():
        seeds = sorted({record["cell"]["seed"] for record in joined.records})
        count = Entry(f"{len(joined.records):,} of {_asked(joined):,}")
        seen = Entry(", ".join(str(seed) for seed in seeds) or "–")
        lines.append(Line(joined.spec.name, [count, seen, *(counted(joined, name) for name in names)]))
    return Table("Where the numbers come from", ["runs", "seeds", *names], lines, text=True)


def _asked(joined: Joined) -> int:
    return sum(len(one.records) + len(one.errors) + len(one.missing) for one in joined.runs)


def _asset(name: str) -> str:
    return (files("gvdn.reports") / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
