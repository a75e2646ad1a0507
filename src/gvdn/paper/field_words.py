"""What the table of the field shows, in one paragraph whose statements are computed from the records."""

from collections.abc import Sequence
from statistics import fmean

from gvdn.paper import OURS
from gvdn.paper.field import TRUST, Column, Field, Pair, Who
from gvdn.paper.field_differences import Differences, difference
from gvdn.reports.joined import Joined
from gvdn.reports.ranks import MeanRank, ranks
from gvdn.reports.statistics import MARGIN, Paired, is_sure
from gvdn.reports.tables import in_words, number, signed, titled

PLAIN = "gcn"
"""The method whose line with trust in front is compared with ours."""


def paragraph(field: Field, shared: Field) -> str:
    """Who has the best mean rank and the highest means, what trust in front does, and how many runs were made.

    Args:
        field: what was run on every graph.
        shared: every method, on the graphs that all of them were run on.
    """
    level = [sentence for both in _plain_with_front(field) for sentence in both]
    said = [*_standing(field), *level, *_in_front(shared), runs_there(field.joined)]
    return " ".join(filter(None, said))


def short_paragraph(field: Field) -> str:
    """Where the lines with trust are ahead, who has the best mean rank, whether a plain GCN with trust is level with
    ours, who has the highest mean of a column, how many differences are sure, and how many runs were made."""
    level = [sentence for sentence, _ in _plain_with_front(field)]
    said = [_trusting(field), best_rank(field), *level, _highest(field), Differences(field).counted()]
    said += [runs_there(field.joined)]
    return " ".join(filter(None, said))


def _standing(field: Field) -> list[str]:
    attacks = [pair for pair in field.pairs if not pair[1].clean]
    among = [_among(field, "Under attack alone", attacks), _among(field, "Under evasion alone", field.evasion())]
    sure = Differences(field).counted()
    return [_trusting(field), best_rank(field), _graph_by_graph(field), *among, _highest(field), _won(field), sure]


def runs_there(joined: Joined) -> str:
    """How many of the runs that the table asks for have a record."""
    there, asked = len({record.key for record in joined.records}), len(joined.keys)
    if not there:
        return f"The table of the field is not measured yet: none of its {asked:,} runs is there."
    if there == asked:
        return f"All {asked:,} runs of the table were made."
    shown = "shown are the seeds that everybody has who has any in a column on a graph"
    return f"{there:,} of {asked:,} runs were made; {shown}."


def _trusting(field: Field) -> str:
    """In how many columns under attack the lines with trust, which ours has inside, are ahead of all others."""
    trusting = {who for who in field.who if who == Who(OURS) or who.front == TRUST}
    attacks = [column for column in field.columns if not column.clean]
    led = [column for column in attacks if _ahead(field, column, trusting)]
    if not led or len(trusting) < 2:
        return ""
    names = in_words([who.name for who in field.in_order if who in trusting])
    where = f"all {len(attacks)}" if led == attacks else f"{len(led)} of {len(attacks)}"
    return f"Under attack, in {where} columns, the highest means are those of {names}, the lines with trust."


def _ahead(field: Field, column: Column, some: set[Who]) -> bool:
    """Whether all of some have a higher mean over the graphs than everybody else."""
    means = {who: found[0] for who in field.who if (found := field.over_datasets(who, column))}
    others = [mean for who, mean in means.items() if who not in some]
    return some <= means.keys() and min(means[who] for who in some) > max(others, default=0.0)


def best_rank(field: Field) -> str:
    """The best mean ranks of the lines that were asked in every comparison, and the place of ours."""
    full = _ranked_in_all(field, field.pairs)
    if len(full) < 2:
        return ""
    comparisons = f"all {len(field.pairs)} comparisons (a graph and a column)"
    return f"Of the {len(full)} lines that have {comparisons}, {_led(full)}."


def _graph_by_graph(field: Field) -> str:
    """The place of ours on each graph, among the same methods."""
    places = []
    for dataset in field.datasets:
        full = _ranked_in_all(field, [pair for pair in field.pairs if pair[0] == dataset])
        if OURS in full and len(full) > 1:
            places.append(f"{_place(full)} on {titled(dataset)}")
    return f"Graph by graph {OURS} is number {in_words(places)}." if len(places) > 1 else ""


def _among(field: Field, start: str, pairs: Sequence[Pair]) -> str:
    """The best mean ranks over some of the comparisons."""
    placed = _ranked_in_all(field, pairs)
    if len(placed) < 2 or len(pairs) == len(field.pairs):
        return ""
    return f"{start}, {len(pairs)} comparisons and {len(placed)} lines, {_led(placed)}."


def _ranked_in_all(field: Field, pairs: Sequence[Pair]) -> dict[str, MeanRank]:
    """Name -> mean rank, of those that were asked in all of these comparisons, over those in which all of them have a
    number: otherwise some would be ranked in easier company."""
    asked = [who for who in field.who if all(field.runs(who, column, dataset) for dataset, column in pairs)]
    measured = [who for who in asked if any(who in field.means(pair) for pair in pairs)]
    found = field.mean_ranks([pair for pair in pairs if all(who in field.means(pair) for who in measured)])
    return {who.name: found[who.name] for who in measured if who.name in found}


def _highest(field: Field) -> str:
    """Who has the highest mean over the graphs, column by column; columns with a single number are left out."""
    led: dict[str, list[str]] = {}
    compared = [one for one in field.columns if sum(bool(field.over_datasets(who, one)) for who in field.who) > 1]
    for column in compared:
        for who in field.highest(column):
            led.setdefault(who.name, []).append(column.title)
    parts = [f"of {name} in {in_words(columns)}" for name, columns in led.items()]
    return f"The highest mean over the graphs is that {'; '.join(parts)}." if parts else ""


def _won(field: Field) -> str:
    """In how many comparisons ours has the highest mean."""
    ours = Who(OURS)
    compared = [pair for pair in field.pairs if len(means := field.means(pair)) > 1 and ours in means]
    if not compared:
        return ""
    won = sum(ours in field.first(pair) for pair in compared)
    return f"{OURS} has the highest mean in {won} of the {len(compared)} comparisons that it has with another method."


def _plain_with_front(field: Field) -> list[tuple[str, str]]:
    """Whether a plain GCN with something in front is level with ours over the comparisons that both have, and the
    difference column by column: a sentence each."""
    said, ours = [], Who(OURS)
    for who in (who for who in field.who if who.method == PLAIN and who.front):
        pairs = [pair for pair in field.pairs if {who, ours} <= field.means(pair).keys()]
        found = difference(field, who, ours, pairs) if pairs else None
        if found:
            start = f"Over the {len(pairs)} comparisons that both have, {who.name} minus {OURS} is"
            columns = {column: [one for one in pairs if one[1] == column] for _, column in pairs}
            gaps = {column.title: difference(field, who, ours, some) for column, some in columns.items()}
            by_column = ", ".join(f"{title} {signed(gap.difference.mean)}" for title, gap in gaps.items() if gap)
            said.append((f"{start} {_judged(found)}.", f"Column by column that is {by_column}."))
    return said


def _judged(pair: Paired) -> str:
    gap = pair.difference
    points = f"{signed(gap.mean)} points"
    if gap.low is None or gap.high is None:
        return f"{points} (no interval: one seed is there on all graphs)"
    interval = f"{points} (95 % interval over {gap.n} seeds {signed(gap.low)} to {signed(gap.high)})"
    if gap.positive is not None:
        return f"{interval}: it is {'better' if gap.positive else 'worse'}"
    if is_sure(pair.p_level()):
        return f"{interval}: the two are level, within {number(MARGIN, 0)} point (one comparison, not corrected)"
    return f"{interval}: which of the two is better cannot be told"


def _in_front(field: Field) -> list[str]:
    """For how many methods the mean is higher with something in front, and by how much: over the graphs with both."""
    said: dict[str, list[str]] = {}
    for column in (column for column in field.shown if column.front):
        alone = next(one for one in field.columns if one.group == column.group and not one.clean)
        gaps = []
        for who in field.who:
            found, before = field.by_dataset(who, column), field.by_dataset(who, alone)
            if both := found.keys() & before.keys():
                gaps.append(fmean(found[dataset] - before[dataset] for dataset in both))
        if gaps:
            higher = sum(gap > 0 for gap in gaps)
            words = f"{higher} of {len(gaps)} methods under {column.group} ({signed(fmean(gaps))} points in the mean)"
            said.setdefault(column.front, []).append(words)
    where = " and ".join(map(titled, field.datasets))
    return [f"With {front}, over {where}, the mean is higher for {in_words(parts)}." for front, parts in said.items()]


def _led(placed: dict[str, MeanRank]) -> str:
    """A sentence without its end: who has the best mean rank, the two that follow, and the place of ours after them."""
    order = sorted(placed, key=lambda name: placed[name].mean)
    first = [name for name in order if placed[name].mean == placed[order[0]].mean]
    rest = order[len(first) : len(first) + 2]
    verb = "has the best mean rank" if len(first) == 1 else "share the best mean rank"
    words = f"{in_words(first)} {verb} ({_two(placed[order[0]])})"
    words += f", before {in_words([f'{name} ({_two(placed[name])})' for name in rest])}" if rest else ""
    if OURS in (*first, *rest):
        return words
    ours = f"is number {_place(placed)} with {_two(placed[OURS])}" if OURS in placed else "has no number there"
    return f"{words}; {OURS} {ours}"


def _place(placed: dict[str, MeanRank]) -> str:
    """The place of ours among these, as a number."""
    position = ranks({name: -one.mean for name, one in placed.items()})[OURS]
    return number(position, 0 if position.is_integer() else 1)


def _two(rank: MeanRank) -> str:
    return number(rank.mean, 2)
