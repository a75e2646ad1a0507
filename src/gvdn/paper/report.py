"""The reproduction page, its pictures, and Markdown tables, drawn from the records of the paper's specs."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

from gvdn.paper import DATASETS, OURS, load, spec_names
from gvdn.paper.exhibits import section, sections
from gvdn.paper.table2 import COLUMNS, compact_table2
from gvdn.paper.table3 import compact_table3
from gvdn.paper.verdicts import Claim, judge
from gvdn.reports.account import Study
from gvdn.reports.comparison import best_of
from gvdn.reports.joined import Runs, join_all
from gvdn.reports.page import write_page, write_whole
from gvdn.reports.svg import standalone
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, number
from gvdn.study import Mode

SAVED = ("table2", "table3", "figure5")
"""The exhibits whose pictures are saved as files."""

STATES = {"clean": "clean (its snapshot)", "perturbed": "evasion", "recovered": "recovered", "withheld": "withheld"}
"""Column of Table 2 -> what the README calls it."""


def write_report(records: Path, output: Path) -> None:
    """The reproduction page, one self-contained HTML file; the same records give the same bytes."""
    study = _study(records)
    claims = judge(study)
    write_page(
        output,
        study,
        sections(study),
        title="The paper’s tables and figures beside ours",
        template=files("gvdn.paper") / "report.html.jinja",
        claims=claims,
        verdicts=Counter(claim.verdict for claim in claims),
    )


def write_pictures(records: Path, folder: Path) -> list[Path]:
    """The pictures of Tables 2 and 3 and of Figure 5 as SVG files on white, where there are records; their paths."""
    study, written = _study(records), []
    for name in SAVED:
        for svg, _ in section(study[name]).pictures:
            write_whole(folder / f"{name}.svg", standalone(svg))
            written.append(folder / f"{name}.svg")
    return written


def markdown_tables(records: Path) -> str:
    """Tables 2 and 3 (accuracy) and the verdicts in Markdown."""
    study = _study(records)
    tables = [compact_table2(study["table2"]), compact_table3(study["table3"]), claims_table(judge(study))]
    return "\n".join(table.markdown() for table in tables)


def claims_table(claims: list[Claim]) -> Table:
    """The claims with their verdicts."""
    lines = [Line(str(one.number), [Entry(one.where), Entry(one.says), Entry(one.verdict)]) for one in claims]
    return Table("The paper's claims", ["where", "what the paper says", "verdict"], lines, text=True)


def readme_table(records: Path) -> str:
    """Ten lines in Markdown: mean accuracy in % on the victims of random connections and of Nettack."""
    study, lines = _study(records), []
    others = {"random-connections": "table3", "nettack": "withheld"}
    for perturbation, name in others.items():
        for column, title in STATES.items():
            mode, part = COLUMNS[column]
            asked = {"method": OURS, "perturbation": perturbation}
            found = [study["table2"].find(dataset, mode, **asked) for dataset in DATASETS]
            entries = [Entry(_mean(runs, f"{part}accuracy")) for runs in found]
            lines.append(Line(f"GVDN, {title}", entries, perturbation))
        best = [_best_other(study, name, perturbation, dataset) for dataset in DATASETS]
        entries = [Entry(_mean(runs, "accuracy"), runs.row.method if runs else "") for runs in best]
        lines.append(Line("best other, nothing stored", entries, perturbation))
    return Table("Accuracy in % on the victims", list(DATASETS), lines).markdown()


def _best_other(study: Study, name: str, perturbation: str, dataset: str) -> Runs | None:
    """The best mean of the other methods in modes that store nothing of the victims."""
    modes = (Mode.EVASION, Mode.POISONING, Mode.WITHHELD)
    here = [one for one in study[name].runs if one.dataset == dataset and one.row.perturbation == perturbation]
    return best_of([one for one in here if one.mode in modes and one.row.method not in (OURS, "snapshot")])


def _mean(runs: Runs | None, metric: str) -> str:
    summary = runs.summary(metric) if runs else None
    return NOT_RUN if summary is None else number(summary.mean)


def _study(records: Path) -> Study:
    return join_all([load(name) for name in spec_names()], records)
