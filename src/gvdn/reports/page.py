"""One self-contained HTML page from specs and records: of any study, or with a template of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from gvdn.files import whole_file
from gvdn.reports.account import Study, failures, graphs_left_out, missing_runs, origins
from gvdn.reports.grids import counts_table, grids
from gvdn.reports.joined import Joined, join_all
from gvdn.reports.losses import loss_picture, movement_table
from gvdn.reports.maps import interactive_map, map_picture, separation_table
from gvdn.reports.pictures import picture
from gvdn.reports.tables import Table
from gvdn.study import Mode, Spec

MODES = {
    Mode.CLEAN: "Fitted on the clean graph and evaluated on it.",
    Mode.EVASION: "Fitted on the clean graph, evaluated on the perturbed one.",
    Mode.POISONING: "Fitted on the perturbed graph and evaluated on it.",
    Mode.POISONING_RECOVERED: "Fitted on the perturbed graph, then recovered on it.",
    Mode.RECOVERED: "Fitted on the clean graph, then recovered on the perturbed one with everything that was stored "
    "of the clean graph: embeddings and predictions, called the snapshot.",
    Mode.WITHHELD: "Recovered in the same way, but everything that was stored of the victims is hidden.",
    Mode.MAPPED: "Recovered, with maps of the embeddings before, under and after the perturbation.",
    Mode.MAPPED_BY_EPOCH: "Recovered, with maps of the embeddings at several epochs of the recovery.",
    Mode.WITH_LOSSES: "Recovered, with every loss over the epochs.",
    Mode.STREAMED: "Recovered while the victims arrive in groups.",
    Mode.COUNTS: "No method: the graph itself is counted.",
}
"""What each mode means, in one sentence for a reader of the page."""


@dataclass(frozen=True)
class Section:
    """One spec in a page: tables, a picture with its caption, the data of an interactive map."""

    spec: Spec
    tables: list[Table]
    picture: str | None = None
    caption: str = ""
    map: str | None = None
    short: str = ""
    """Its name in the contents; that of the spec, if nothing is said."""


def write_study(records: Path, output: Path, specs: Sequence[Spec]) -> None:
    """The page of any specs, in general form; the same records give the same bytes."""
    study = join_all(specs, records)
    title = specs[0].title if len(specs) == 1 else ", ".join(spec.name for spec in specs)
    write_page(output, study, [section(joined) for joined in study.values()], title=title)


def section(joined: Joined) -> Section:
    """A spec in general form: a picture, tables of the scores, and what its modes record besides."""
    spec, records = joined.spec, joined.records
    if any(record.map for record in records):
        tables = [separation_table(joined), *grids(joined, shown=())]
        return Section(spec, tables, map_picture(joined), map=interactive_map(joined))
    if any(record.losses for record in records):
        return Section(spec, [movement_table(joined), *grids(joined, shown=())], loss_picture(joined))
    tables = [counts_table(joined)] if any(record.counts for record in records) else []
    tables += grids(joined) if any(record.scores for record in records) else []
    return Section(spec, tables, picture(joined))


def write_page(path: Path, study: Study, sections: Sequence[Section], *, title: str, **more: Any) -> None:
    """Write the page of a study; `more` goes to the template, and `template` among it may extend the general one."""
    modes = {one.mode for joined in study.values() for one in joined.runs}
    template = more.pop("template", files("gvdn.reports") / "page.html.jinja")
    html = render(
        template,
        title=title,
        sections=sections,
        modes=[(mode, MODES[mode]) for mode in Mode if mode in modes],
        map_script=(files("gvdn.reports") / "map.js").read_text(encoding="utf-8"),
        missing=missing_runs(study),
        failures=failures(study),
        left_out=graphs_left_out(study),
        origins=origins(study),
        runs=len({record.key for joined in study.values() for record in joined.records}),
        asked=len({key for joined in study.values() for key in joined.keys}),
        **more,
    )
    write_whole(path, html)


def render(template: Any, **values: Any) -> str:
    """A template of a file, which may extend those of this package."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(files("gvdn.reports"))),
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
