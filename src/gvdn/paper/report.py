"""The reproduction page, its pictures, and Markdown tables, drawn from the records of the paper's specs."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

from gvdn.paper import load, spec_names, summary
from gvdn.paper.exhibits import section, sections
from gvdn.paper.table2 import compact_table2
from gvdn.paper.table3 import compact_table3
from gvdn.paper.verdicts import Claim, judge
from gvdn.reports.account import Study, remark
from gvdn.reports.joined import join_all
from gvdn.reports.page import write_page, write_whole
from gvdn.reports.svg import standalone
from gvdn.reports.tables import Entry, Line, Table

SAVED = ("table2", "table3", "figure5")
"""The exhibits whose pictures are saved as files."""

CAPTION = (
    "Means of the seeds, with one standard deviation. Clean: before the perturbation. Evasion: fitted before it, asked "
    "after it. Recovered: with what was stored of the victims. Withheld: with nothing stored of them."
)


def study_of(records: Path) -> Study:
    """The paper's specs with the records of a folder."""
    return join_all([load(name) for name in spec_names()], records)


def write_report(study: Study, output: Path) -> None:
    """The reproduction page, one self-contained HTML file; the same records give the same bytes."""
    claims = judge(study)
    write_page(
        output,
        study,
        sections(study),
        title="The paper’s tables and figures beside ours",
        summary=summary.sentences(study, claims),
        first=(picture, CAPTION) if (picture := summary.picture(study)) else None,
        template=files("gvdn.paper") / "report.html.jinja",
        claims=claims,
        verdicts=Counter(claim.verdict for claim in claims),
    )


def write_pictures(study: Study, folder: Path) -> list[Path]:
    """The pictures of Tables 2 and 3 and of Figure 5 as SVG files on white, where there are records; their paths."""
    written = []
    for name in SAVED:
        for svg, _ in section(study[name]).pictures:
            write_whole(folder / f"{name}.svg", standalone(svg))
            written.append(folder / f"{name}.svg")
    return written


def markdown_tables(study: Study) -> str:
    """Tables 2 and 3 (accuracy) and the verdicts in Markdown."""
    tables = [compact_table2(study["table2"]), compact_table3(study["table3"]), claims_table(judge(study))]
    remarks = (remark(study["table2"]), remark(study["table3"]), "")
    return "\n".join(
        table.markdown() + (f"\n{told}\n" if told else "") for table, told in zip(tables, remarks, strict=True)
    )


def claims_table(claims: list[Claim]) -> Table:
    """The claims with their verdicts."""
    lines = [Line(str(one.number), [Entry(one.where), Entry(one.says), Entry(one.verdict)]) for one in claims]
    return Table("The paper's claims", ["where", "what the paper says", "verdict"], lines, text=True)
