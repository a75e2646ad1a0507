"""The tables and the picture of the field: one table over all graphs, with ranks, and one for each graph."""

from collections import Counter

from gvdn.paper.field import (
    BEFORE_RECOVERY,
    NOT_APPLICABLE,
    OF_THE_METHOD,
    RECOVERING,
    Column,
    Field,
    Who,
    on_all_graphs,
    on_shared_graphs,
    ranked_columns,
)
from gvdn.paper.field_certainty import READ as READ_CERTAINTY
from gvdn.paper.field_certainty import certainty_table
from gvdn.paper.field_differences import Differences
from gvdn.paper.field_words import PLAIN, paragraph, runs_there, short_paragraph
from gvdn.reports.figures import Value, dot_rows
from gvdn.reports.joined import Joined, distinct
from gvdn.reports.ranks import MeanRank
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, mean_and_spread, number, titled

RANKED = ("mean rank", "mean rank, evasion")

READ = (
    "Bold: the highest of a column, and the best mean rank, of those with all numbers. Clean: the fitted method on "
    "the victims of wrong links before the attack, without recovery or trust. With trust in front: links and feature "
    "rows are judged by our trust model before the method sees them; in poisoning they are judged in turn, and the "
    "method is fitted again on what is trusted. Mean rank: over all graphs and columns but those with something in "
    "front, among all lines that have a number there; 1 is the best, equal means share a rank. †: the attack is aimed"
    " at the fitted classifier, not at its recovery. n/a: the method does not support the threat model, or it was not"
    " run so. (m of n): of how many graphs or comparisons, where that is not all. Given, beside features and the "
    "labels of fitting: **G**raph; **F**eatures only; **S**tored results of the clean graph, of which the victims of "
    "evasion have none; **T**est-time recovery; **L**abels again at recovery, which gvdn and trust are given in "
    "poisoning alone. No defence reads a test label; of the attackers only *wrong links* does."
)
READ_FIRST = (
    "Bold: the best of a column, of those with all numbers. Clean: before the attack, without recovery or trust. With"
    " trust in front: our trust model judges links and feature rows before the method sees them, in poisoning before "
    "it is fitted again. Mean rank: over graphs and columns, among all lines that have a number there, 1 is the best;"
    " (m of n): over how many, where not all. PRBCD of the method has 60 steps; more cost gvdn and trust some points,"
    " and leave the order at the top as it is. †: the attack is aimed at the classifier before its recovery. n/a: the"
    " method does not support the threat model, or was not run so. Given, beside features and labels: **G**raph; "
    "**F**eatures only; **S**tored results of the clean graph, none of the victims; **T**est-time recovery; "
    "**L**abels again at recovery (gvdn and trust: in poisoning alone). No defence reads a test label."
)
ATTACKED_SETTINGS = {
    "hidden": "width",
    "dropout": "dropout",
    "learning_rate": "learning rate",
    "weight_decay": "weight decay",
    "epochs": "epochs",
}
"""Settings of the GCN that attacks go through -> their names in a table."""
WIDE, HIGH = 5.4, 0.46
"""Inches of a picture and of its rows: letters can be read on a phone, and nine marks of a row be told apart."""
XLABEL = "accuracy in % on the victims"
CAPTION = (
    "Methods in the order of their mean rank; those that do not support every column stand below the others. A mark is "
    "the mean over the graphs."
)


def overall_table(field: Field) -> Table:
    """A line for each method: the mean over the graphs in each column, its mean ranks, and what it was given."""
    rankings = ((field.overall, len(field.pairs)), (field.mean_ranks(field.evasion()), len(field.evasion())))
    best = {column: field.highest(column) for column in field.shown}
    lines = []
    for who in field.in_order:
        entries = [_over_datasets(field, who, column, best=who in best[column]) for column in field.shown]
        placed = [_rank(found.get(who.name), count, found) for found, count in rankings]
        lines.append(Line(who.name, [*entries, *placed, Entry(who.letters)]))
    return Table(field.title, [*(column.title for column in field.shown), *RANKED, "given"], lines)


def dataset_table(field: Field, dataset: str) -> Table:
    """One graph: a line for each method, mean ± standard deviation in each column, and its mean rank there.

    Methods and columns that were not asked on this graph are left out.
    """
    pairs = [pair for pair in field.pairs if pair[0] == dataset]
    found = field.mean_ranks(pairs)
    shown = [column for column in field.shown if any(field.runs(who, column, dataset) for who in field.who)]
    asked = [who for who in field.in_order if any(field.runs(who, column, dataset) for column in shown)]
    first = {column: field.first((dataset, column)) for column in shown}

    def entry(who: Who, column: Column) -> Entry:
        summary = field.summary(who, column, dataset)
        if summary is None:
            return Entry(field.why_empty(who, column, dataset) or NOT_APPLICABLE)
        fewer = "" if summary.n == max(field.counts(dataset)) else f"n {summary.n}"
        return Entry(mean_and_spread(summary), _notes(fewer, who, column), best=who in first[column])

    lines = [
        Line(who.name, [*(entry(who, column) for column in shown), _rank(found.get(who.name), len(pairs), found)])
        for who in asked
    ]
    return Table(titled(dataset), [*(column.title for column in shown), RANKED[0]], lines)


def attacked_table(joined: Joined) -> Table:
    """The GCN that attacks go through: its settings on each graph, as the records of the plain GCN have them."""
    of_gcn = (record for record in joined.records if record.cell.method == PLAIN and record.settings)
    found = {record.cell.dataset: record.settings for record in of_gcn}
    shown = [dataset for dataset in joined.spec.datasets if dataset in found]
    lines = [Line(titled(name), [Entry(f"{found[name][one]:g}") for one in ATTACKED_SETTINGS]) for name in shown]
    return Table("The attacked GCN", list(ATTACKED_SETTINGS.values()), lines)


def picture(field: Field, dataset: str = "") -> str:
    """A row for each method, a mark for each ranked column: the mean over the graphs, or over the seeds of one.

    A column has the same mark in all pictures of a spec, whichever of its columns they show.
    """
    names = [column.title for column in ranked_columns(distinct(row.group for row in field.joined.spec.rows))]
    rows: dict[str, dict[str, Value]] = {}
    for who in field.in_order:
        for column in field.columns:
            if value := _value(field, who, column, dataset):
                rows.setdefault(who.name, {})[column.title] = value
    title = titled(dataset) if dataset else field.title
    xlabel = XLABEL if dataset else f"{XLABEL}, mean over the graphs"
    return dot_rows({"": rows}, xlabel=xlabel, title=title, wide=WIDE, high=HIGH, names=names) if rows else ""


def pictures(joined: Joined) -> dict[str, str]:
    """Name of a file -> the picture over all graphs, and one for each graph; those without a record are left out."""
    whole = Field(joined)
    found = {_file(""): picture(on_all_graphs(joined))}
    found |= {_file(dataset): picture(whole, dataset) for dataset in whole.datasets}
    return {name: svg for name, svg in found.items() if svg}


def _value(field: Field, who: Who, column: Column, dataset: str) -> Value | None:
    if dataset:
        return mean_and_std(field.summary(who, column, dataset))
    found = field.over_datasets(who, column)
    return (found[0], 0.0) if found else None


def _file(dataset: str) -> str:
    return f"field-{dataset}.svg" if dataset else "field.svg"


def pieces(joined: Joined) -> dict[str, str]:
    """Name of a place in a page -> what stands there in Markdown.

    They are the table over all graphs with how to read it and its paragraph, in short for the first page and in full,
    the picture, the differences to ours with tests, the table of all methods on the graphs that they share, that of how
    sure the answers are, the settings of the GCN that attacks go through, and the picture and the table of each graph.
    Without a record the first two are one sentence that says so, and the others are empty.
    """
    field, shared, whole = on_all_graphs(joined), on_shared_graphs(joined), Field(joined)
    if not any(whole.seeds.values()):
        said = dict.fromkeys(["summary", "overall"], runs_there(joined))
        return said | dict.fromkeys(["picture", "differences", "shared", "certainty", "attacked", *whole.datasets], "")
    shown = (_opening(field), overall_table(field).markdown(title=False).strip())
    return {
        "summary": "\n\n".join((*shown, READ_FIRST, short_paragraph(field))),
        "overall": "\n\n".join((*shown, READ, paragraph(field, shared))),
        "picture": f"![{field.title}]({_file('')})\n\n*{CAPTION}*",
        "differences": _differences(field),
        "shared": "\n\n".join((_opening(shared), overall_table(shared).markdown(title=False).strip())),
        "certainty": "\n\n".join((certainty_table(field).markdown(title=False).strip(), READ_CERTAINTY)),
        "attacked": attacked_table(joined).markdown(title=False).strip(),
        **{dataset: _of_one(whole, dataset) for dataset in whole.datasets},
    }


def _opening(field: Field) -> str:
    """The title, and what the numbers are the means of."""
    there = {titled(dataset): counts for dataset in field.datasets if (counts := field.counts(dataset))}
    graphs = " and ".join(there) if len(there) < 3 else f"{len(there)} graphs"
    words = {name: " or ".join(map(str, counts)) for name, counts in there.items()}
    usual = Counter(words.values()).most_common(1)[0][0]
    others = ", ".join(f"{count} on {name}" for name, count in words.items() if count != usual)
    seeds = f"{usual} seed{'' if usual == '1' else 's'}{f' ({others})' if others else ''}"
    return f"**{field.title}**: accuracy in % on the victims, mean over {seeds}, then over {graphs}."


def _differences(field: Field) -> str:
    """The table of differences to ours, and how to read it."""
    found = Differences(field)
    return "\n\n".join((found.table().markdown(title=False).strip(), found.read())) if found.found else ""


def _over_datasets(field: Field, who: Who, column: Column, *, best: bool) -> Entry:
    found = field.over_datasets(who, column)
    if found is None:
        said = {field.why_empty(who, column, dataset) for dataset in field.datasets} - {None}
        return Entry("failed" if "failed" in said else NOT_RUN if said else NOT_APPLICABLE)
    mean, there = found
    of = len(field.datasets)
    small = _notes("" if there == of else f"{there} of {of} graphs", who, column)
    return Entry(number(mean), small, best=best)


def _notes(fewer: str, who: Who, column: Column) -> str:
    """What stands beside a number: that it is of fewer, and the sign of an attack not aimed at the whole method."""
    through = BEFORE_RECOVERY if column.group == OF_THE_METHOD and who.method in RECOVERING else ""
    return ", ".join(filter(None, (fewer, through)))


def _rank(rank: MeanRank | None, of: int, all_ranks: dict[str, MeanRank]) -> Entry:
    if rank is None:
        return Entry(NOT_RUN)
    best = rank.mean == min(one.mean for one in all_ranks.values() if one.n == of) if rank.n == of else False
    return Entry(number(rank.mean, 2), "" if rank.n == of else f"{rank.n} of {of}", best=best)


def _of_one(field: Field, dataset: str) -> str:
    """The picture and the table of one graph."""
    shown = f"![{titled(dataset)}: accuracy under every attack]({_file(dataset)})\n\n" if field.counts(dataset) else ""
    return shown + dataset_table(field, dataset).markdown(title=False).strip()
