"""One self-contained HTML page from specs and records: of any study, or with a template of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from gvdn.files import whole_file
from gvdn.reports import losses, maps
from gvdn.reports.account import Study, failures, graphs_left_out, missing_runs, origins, remark
from gvdn.reports.comparison import difference_tables
from gvdn.reports.grids import counts_table, grids
from gvdn.reports.joined import Joined
from gvdn.reports.pictures import picture, swept_settings
from gvdn.reports.recoveries import choices_table, links_table
from gvdn.reports.summary import summary
from gvdn.reports.svg import glyphs_once, standalone
from gvdn.reports.tables import Table
from gvdn.study import Mode, Spec

TEMPLATES = files("gvdn.reports")

MODES = {
    Mode.CLEAN: "Fitted on the clean graph and evaluated on it.",
    Mode.EVASION: "Fitted on the clean graph, evaluated on the perturbed one.",
    Mode.POISONING: "Fitted on the perturbed graph and evaluated on it.",
    Mode.POISONING_RECOVERED: "Fitted on the perturbed graph, then recovered on it.",
    Mode.POISONING_TRUSTED: "Fitted on the perturbed graph, and again on it as far as its links are trusted, with "
    "trust in front.",
    Mode.RECOVERED: "Fitted on the clean graph, then recovered on the perturbed one with everything that was stored "
    "of the clean graph: embeddings and predictions, called the snapshot.",
    Mode.WITHHELD: "Recovered in the same way, but everything that was stored of the victims is hidden.",
    Mode.NEW: "Fitted on the clean graph without the victims, evaluated on the perturbed one, in which they arrive.",
    Mode.NEW_GUARDED: "The same, with feature rows of large norm scaled down before the method sees the graph.",
    Mode.NEW_TRUSTED: "The same, with trust in front: links and rows are judged before the method sees the graph.",
    Mode.NEW_WEIGHED: "With trust in front, but the method's own answers on the judged graph alone.",
    Mode.NEW_STUDENT: "Victims arrive; answered by what each feature row says.",
    Mode.NEW_LINKS: "Victims arrive; answered by what the links of each node say, as far as they are trusted.",
    Mode.RECOVERED_NEW: "Fitted in the same way, then recovered on the perturbed graph, in which the victims arrive.",
    Mode.MAPPED: "Recovered, with maps of the embeddings before, under and after the perturbation.",
    Mode.MAPPED_BY_EPOCH: "Recovered, with maps of the embeddings at several epochs of the recovery.",
    Mode.WITH_LOSSES: "Recovered, with every loss over the epochs.",
    Mode.STREAMED: "Recovered while the victims arrive in groups.",
    Mode.COUNTS: "No method: the graph itself is counted.",
}
"""What each mode means, in one sentence for a reader of the page."""


@dataclass(frozen=True)
class Section:
    """One spec in a page: tables, pictures with their captions, the data of an interactive map."""

    spec: Spec
    tables: list[Table]
    pictures: list[tuple[str, str]] = field(default_factory=list)
    map: str | None = None


Captioned = tuple[str, str]
"""A picture and its caption."""


def first_picture(sections: Sequence[Section]) -> tuple[Captioned | None, list[Section]]:
    """The first picture of a page, for its first screen, and the sections without it."""
    for number, one in enumerate(sections):
        if one.pictures:
            less = replace(one, pictures=one.pictures[1:])
            return one.pictures[0], [*sections[:number], less, *sections[number + 1 :]]
    return None, list(sections)


def write_study(study: Study, output: Path) -> None:
    """The page of any specs with their records, in general form; the same records give the same bytes."""
    titles = [joined.spec.title for joined in study.values()]
    title = titles[0] if len(titles) == 1 else ", ".join(study)
    words = [sentence for joined in study.values() for sentence in summary(joined)]
    sections = [section(joined) for joined in study.values()]
    first, rest = first_picture(sections)
    write_page(output, study, rest, title=title, summary=words, first=first)


def write_study_pictures(study: Study, folder: Path) -> list[Path]:
    """The pictures of any specs as SVG files on white; their paths."""
    written = []
    for name, joined in study.items():
        for number, (svg, _) in enumerate(section(joined).pictures, start=1):
            written.append(folder / f"{name}{f'-{number}' if number > 1 else ''}.svg")
            write_whole(written[-1], standalone(svg))
    return written


def markdown_study(study: Study) -> str:
    """The tables of any specs that are not folded, in Markdown."""
    told = []
    for joined in study.values():
        told += [table.markdown() for table in section(joined).tables if not table.folded]
        told += filter(None, [remark(joined)])
    return "\n".join(told)


def section(joined: Joined) -> Section:
    """A spec in general form: pictures, tables of the scores, and what its modes record besides."""
    records = joined.records
    tables: list[Table] = []
    pictures: list[tuple[str, str]] = []
    if any(record.map for record in records):
        tables.append(maps.separation_table(joined))
        pictures.append((maps.map_picture(joined), maps.CAPTION))
    if any(record.losses for record in records):
        tables.append(losses.movement_table(joined))
        pictures.append((losses.loss_picture(joined), losses.CAPTION))
    if any(record.counts for record in records):
        tables.append(counts_table(joined))
    folded = bool(pictures or swept_settings(joined.spec))
    if not pictures and (svg := picture(joined)):
        pictures.append((svg, ""))
    if any(record.scores for record in records):
        tables += [*grids(joined, shown=() if folded else ("accuracy",)), *difference_tables(joined)]
    if any(record.recovery for record in records):
        tables.append(choices_table(joined))
    if any(record.links for record in records):
        tables.append(links_table(joined))
    return Section(joined.spec, tables, pictures, maps.interactive_map(joined))


def write_page(
    path: Path,
    study: Study,
    sections: Sequence[Section],
    *,
    title: str,
    opening: str = "",
    summary: Sequence[str] = (),
    first: Captioned | None = None,
    lead: Table | None = None,
    template: Traversable = TEMPLATES / "page.html.jinja",
    **more: Any,
) -> None:
    """Write the page of a study: the summary, the first picture and the table that leads, then the sections.

    `more` goes to the template, which may extend the general one.
    """
    modes = {one.mode for joined in study.values() for one in joined.runs}
    html = rendered(
        template,
        title=title,
        opening=opening,
        summary=summary,
        first=first,
        lead=lead,
        sections=sections,
        modes=[(mode, MODES[mode]) for mode in Mode if mode in modes],
        map_script=(TEMPLATES / "map.js").read_text(encoding="utf-8"),
        missing=missing_runs(study),
        failures=failures(study),
        remarks={name: remark(joined) for name, joined in study.items()},
        left_out=graphs_left_out(study),
        not_run=any((missing_runs(study), failures(study), graphs_left_out(study))),
        origins=origins(study),
        runs=len({record.key for joined in study.values() for record in joined.records}),
        asked=len({key for joined in study.values() for key in joined.keys}),
        **more,
    )
    write_whole(path, glyphs_once(html))


def rendered(template: Traversable, **values: Any) -> str:
    """The HTML of a template, which may extend the general one; a value that it lacks is an error."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(TEMPLATES)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(**values)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
