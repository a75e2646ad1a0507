"""The tables and the picture of the field: one table over all graphs, with ranks, and one for each graph."""

from dataclasses import replace

from gvdn.paper.exhibits import EXHIBITS
from gvdn.paper.field import OPAQUE, Column, Field, Who
from gvdn.paper.field_words import paragraph, runs_there
from gvdn.reports.figures import Value, dot_rows
from gvdn.reports.grids import grids
from gvdn.reports.joined import Joined
from gvdn.reports.page import Section
from gvdn.reports.ranks import MeanRank
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import NOT_ASKED, NOT_RUN, Entry, Line, Table, mean_and_spread, number, titled

TITLE = "Every method under every threat model"
RANKED = ("mean rank", "mean rank, evasion")

READ = (
    "Bold: the highest of a column, and the best mean rank. Clean: the same model on the same nodes before the attack. "
    "Mean rank: over every graph and every column but those with something in front, 1 is the best, equal means share "
    "a rank; small print says of how many comparisons it is, where a method does not support some or lacks runs. "
    "of a GCN: no gradient reaches the links of the method, so the attack is the one through a GCN. "
    "– : no record. Not asked: the method does not support the threat model; in front, it reads no links or has trust "
    "inside. Given: what a method uses beside features, links and labels at fitting. Stored results are predictions, "
    "embeddings or links learned on the clean graph; of the victims of evasion, which are new, there are none."
)
READ_QUOTED = (
    "Bold: the highest of a column, of those with a number on as many graphs as anybody. Given, beside features and "
    "the labels of fitting: **G**raph; **F**eatures only; **S**tored results of the clean graph, of which the victims "
    "of evasion have none; **T**est-time recovery; **L**abels again at recovery. Nobody reads a test label."
)
READ_ONE = "Mean ± standard deviation over the seeds; bold: the highest mean of a column. Mean rank: on this graph."
XLABEL = "accuracy in % on the victims"
CAPTION = (
    "Methods in the order of their mean rank; those that do not support every column stand below the others. A mark is "
    "the mean over the graphs that have a record."
)


def overall_table(field: Field) -> Table:
    """A line for each method: what it was given, the mean over the graphs in each column, and its mean ranks."""
    rankings = (field.overall, field.mean_ranks(field.evasion()))
    of = (len(field.pairs), len(field.evasion()))
    best = {column: _highest(field, column) for column in field.shown}
    lines = []
    for who in field.in_order:
        entries = [_over_datasets(field, who, column, best=who in best[column]) for column in field.shown]
        placed = [_rank(found.get(who.name), count, found) for found, count in zip(rankings, of, strict=True)]
        lines.append(Line(who.name, [Entry(who.given), *entries, *placed]))
    columns = ["given", *(column.title for column in field.shown), *RANKED]
    return Table(TITLE, columns, lines)


def quoted_table(field: Field) -> Table:
    """The same in short: initials of what is given, the ranked columns without those with something in front."""
    best = {column: _highest(field, column) for column in field.columns}
    lines = [
        Line(
            who.name,
            [
                *(_over_datasets(field, who, column, best=who in best[column]) for column in field.columns),
                _rank(field.overall.get(who.name), len(field.pairs), field.overall),
                Entry(who.letters),
            ],
        )
        for who in field.in_order
    ]
    return Table(TITLE, [*(column.title for column in field.columns), RANKED[0], "given"], lines)


def dataset_table(field: Field, dataset: str) -> Table:
    """One graph: a line for each method, mean ± standard deviation in each column, and its mean rank there."""
    pairs = [pair for pair in field.pairs if pair[0] == dataset]
    found = field.mean_ranks(pairs)
    first = {column: field.first((dataset, column)) for column in field.shown}

    def entry(who: Who, column: Column) -> Entry:
        summary = field.summary(who, column, dataset)
        if summary is None:
            return Entry(field.why_empty(who, column, dataset) or NOT_ASKED)
        small = "" if summary.n == len(field.seeds[dataset]) else f"n {summary.n}"
        return Entry(mean_and_spread(summary), small or _through(who, column), best=who in first[column])

    lines = [
        Line(
            who.name,
            [*(entry(who, column) for column in field.shown), _rank(found.get(who.name), len(pairs), found)],
        )
        for who in field.in_order
    ]
    return Table(titled(dataset), [*(column.title for column in field.shown), RANKED[0]], lines)


def picture(field: Field, dataset: str = "") -> str:
    """A row for each method, a mark for each ranked column: the mean over the graphs, or over the seeds of one."""
    rows: dict[str, dict[str, Value]] = {}
    for who in field.in_order:
        for column in field.columns:
            if value := _value(field, who, column, dataset):
                rows.setdefault(who.name, {})[column.title] = value
    title = ": ".join(filter(None, (TITLE, dataset and titled(dataset))))
    xlabel = XLABEL if dataset else f"{XLABEL}, mean over the graphs"
    return dot_rows({"": rows}, xlabel=xlabel, title=title, wide=6.4, high=0.36) if rows else ""


def pictures(joined: Joined) -> dict[str, str]:
    """Name of a file -> the picture over all graphs, and one for each graph; those without a record are left out."""
    field = Field(joined)
    found = {_file(dataset): picture(field, dataset) for dataset in ("", *field.datasets)}
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

    They are the table over all graphs with its paragraph, in full and in short (`quoted`), how to read it, the picture,
    and the table of each graph. Without a record the first is one sentence that says so, and the others are empty.
    """
    field = Field(joined)
    if not any(field.seeds.values()):
        nothing = dict.fromkeys(["overall", "quoted"], runs_there(field))
        return dict.fromkeys(["reading", "picture", *field.datasets], "") | nothing
    overall, quoted = overall_table(field), quoted_table(field)
    opening, said = f"**{TITLE}**: accuracy in % on the victims, means over {_counted(field)}.", paragraph(field)
    return {
        "overall": "\n\n".join((opening, _markdown(overall), said)),
        "quoted": "\n\n".join((opening, _markdown(quoted), READ_QUOTED, said)),
        "reading": READ,
        "picture": f"![{TITLE}]({_file('')})\n\n*{CAPTION}*",
        **{dataset: _of_one(field, dataset) for dataset in field.datasets},
    }


@EXHIBITS.register("field")
def section(joined: Joined) -> Section:
    """The table over all graphs with its paragraph, one for each graph, and other metrics, folded."""
    field = Field(joined)
    overall = replace(overall_table(field), note=f"{paragraph(field)} {READ}")
    graphs = [replace(dataset_table(field, dataset), note=READ_ONE) for dataset in field.datasets]
    shown = [(svg, CAPTION if name == _file("") else READ_ONE) for name, svg in pictures(joined).items()]
    others = grids(joined, ("entropy", "ece", "brier", "seconds"), shown=())
    return Section(joined.spec, [overall, *graphs, *others], shown)


def _counted(field: Field) -> str:
    """The graphs and seeds that the records are of."""
    there = {dataset: len(seeds) for dataset, seeds in field.seeds.items() if seeds}
    words = f"{_number_of(len(there), 'graph')} of the means over"
    if len(set(there.values())) == 1:
        words += f" {_number_of(next(iter(there.values())), 'seed')}"
    else:
        words += f" the seeds ({', '.join(f'{titled(name)} {count}' for name, count in there.items())})"
    fewer = {one.title: names for one in field.columns if len(names := field.datasets_of(one)) < len(field.datasets)}
    return "; ".join([words, *(f"{title}: {' and '.join(map(titled, names))} alone" for title, names in fewer.items())])


def _number_of(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _over_datasets(field: Field, who: Who, column: Column, *, best: bool) -> Entry:
    found = field.over_datasets(who, column)
    if found is None:
        said = {field.why_empty(who, column, dataset) for dataset in field.datasets} - {None}
        return Entry("failed" if "failed" in said else NOT_RUN if said else NOT_ASKED)
    mean, there = found
    of = len(field.datasets_of(column))
    small = _through(who, column) if there == of else f"{there} of {of} graphs"
    return Entry(number(mean), small, best=best)


def _through(who: Who, column: Column) -> str:
    """Which model an attack of the method went through, where it was not the method."""
    return "of a GCN" if column.group == "PRBCD of the method" and who.method in OPAQUE else ""


def _highest(field: Field, column: Column) -> set[Who]:
    """Who has the highest mean over the graphs, of those that have a number on as many graphs as anybody."""
    found = {who: mean for who in field.who if (mean := field.over_datasets(who, column))}
    most = max((there for _, there in found.values()), default=0)
    means = {who: mean for who, (mean, there) in found.items() if there == most}
    return {who for who, mean in means.items() if mean == max(means.values())}


def _rank(rank: MeanRank | None, of: int, all_ranks: dict[str, MeanRank]) -> Entry:
    if rank is None:
        return Entry(NOT_RUN)
    best = rank.mean == min(one.mean for one in all_ranks.values() if one.n == of) if rank.n == of else False
    return Entry(number(rank.mean, 2), "" if rank.n == of else f"{rank.n} of {of}", best=best)


def _of_one(field: Field, dataset: str) -> str:
    """The picture and the table of one graph."""
    shown = f"![{TITLE}: {titled(dataset)}]({_file(dataset)})\n\n" if field.seeds[dataset] else ""
    return shown + _markdown(dataset_table(field, dataset))


def _markdown(table: Table) -> str:
    """The table without its title, which the page has."""
    return table.markdown().split("\n", 2)[2].strip()
