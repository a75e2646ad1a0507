"""The reproduction report: one page and Markdown tables, drawn from specs and records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from gvdn.files import whole_file
from gvdn.reports.claims import judge
from gvdn.reports.compare import paired_tests, table2, table3, tables
from gvdn.reports.joined import Joined, SpecLike, distinct, join
from gvdn.reports.pictures import picture
from gvdn.reports.tables import Entry, Line, Table
from gvdn.reports.verdicts import Claim

WITHOUT_SPEC = {
    "datasets": "the dataset table",
    "figure5": "Figure 5 (t-SNE of clean, perturbed and recovered embeddings)",
    "figure6": "Figure 6 (embeddings during retraining)",
    "figure7": "Figure 7 (loss curves)",
    "streaming": "the streaming table",
}
"""What else the paper shows, by the name that its spec would have."""

FLICKR = (
    "Flickr: its 500 features could not be obtained, so none of its numbers were measured and the paper's Flickr "
    "columns have no counterpart. flickr-structure is the real structure and labels of that graph with simulated "
    "features; no number of it stands beside one of the paper's."
)


def write_report(records: Path, output: Path, specs: Sequence[SpecLike]) -> None:
    """One self-contained HTML file; the same records give the same bytes."""
    import jinja2

    study = {spec.name: join(spec, records) for spec in specs}
    template = (files("gvdn.reports") / "report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    claims = judge(study)
    html = environment.from_string(template).render(
        claims=claims,
        verdicts=Counter(claim.verdict for claim in claims),
        sections=[_section(joined) for joined in _in_order(study)],
        missing=missing_runs(study),
        failures=failures(study),
        absent=[words for name, words in WITHOUT_SPEC.items() if name not in study],
        flickr=FLICKR,
        origins=origins(study),
        runs=sum(len(joined.records) for joined in study.values()),
        asked=sum(_asked(joined) for joined in study.values()),
    )
    with whole_file(output) as draft:
        draft.write_text(html, encoding="utf-8")


def markdown_tables(records: Path, specs: Sequence[SpecLike]) -> str:
    """Tables 2 and 3 (accuracy), the paired tests and the claims, for a README."""
    study = {spec.name: join(spec, records) for spec in specs}
    found: list[Table] = []
    if "table2" in study:
        found.append(_named("Table 2", table2(study["table2"])[0]))
    if "table3" in study:
        found += [_named("Table 3", table3(study["table3"])[0]), paired_tests(study["table3"])]
    found.append(claims_table(judge(study)))
    return "\n".join(table.markdown() for table in found)


def claims_table(claims: list[Claim]) -> Table:
    lines = [
        Line(str(one.number), [Entry(f"{one.where}: {one.says}"), Entry(one.verdict), Entry(one.numbers)])
        for one in claims
    ]
    return Table("The paper's claims", ["what the paper says", "verdict", "what was measured"], lines, text=True)


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


def _section(joined: Joined) -> dict[str, Any]:
    return {"spec": joined.spec, "picture": picture(joined), "tables": tables(joined) if joined.records else []}


def _in_order(study: dict[str, Joined]) -> list[Joined]:
    """The paper's two tables first, then its figures, then what is ours."""
    known = ["table2", "table3", "figure2", "figure3", "figure4", "figure8", "figure9", "noisy-labels", "sparse-labels"]
    return [study[name] for name in [*(n for n in known if n in study), *(n for n in study if n not in known)]]


def _named(title: str, table: Table) -> Table:
    return Table(f"{title}: {table.title}", table.columns, table.lines, table.note)


def _asked(joined: Joined) -> int:
    return sum(len(one.records) + len(one.errors) + len(one.missing) for one in joined.runs)
