"""Stronger adaptive attacks beside those of the field: more steps, and rounds between which the defence reacts."""

from gvdn.paper.field import NOT_APPLICABLE, OF_THE_METHOD, Column, Field, Who
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import Summary, summarise
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, mean_and_spread, titled

USUAL = "60 steps"
"""The attack of the field."""


def stronger_table(field: Joined, stronger: Joined) -> Table:
    """A line for each method: on each graph the attack of the field, and each of the spec `stronger`.

    Rows of that spec have the name of the line as their group and the attack as their label. All numbers are over its
    seeds.
    """
    usual, attacks = Field(field), distinct(row.label for row in stronger.spec.rows)
    asked = {(one.row.group, one.row.label, one.dataset): one for one in stronger.runs}
    datasets = stronger.spec.datasets

    def entries(who: Who, dataset: str) -> list[Entry]:
        seeds = stronger.spec.seeds_of(dataset)
        before = usual.runs(who, Column(OF_THE_METHOD), dataset)
        return [_entry(before, seeds), *(_entry(asked.get((who.name, one, dataset)), seeds) for one in attacks)]

    there = {group for group, _, _ in asked}
    lines = [
        Line(who.name, [entry for dataset in datasets for entry in entries(who, dataset)])
        for who in usual.in_order
        if who.name in there
    ]
    heads = [f"{titled(dataset)}, {attack}" for dataset in datasets for attack in (USUAL, *attacks)]
    return Table(stronger.spec.title, heads, lines)


def _entry(runs: Runs | None, seeds: tuple[int, ...]) -> Entry:
    if runs is None:
        return Entry(NOT_APPLICABLE)
    found = _summary(runs, seeds)
    if found is None:
        return Entry(NOT_RUN)
    return Entry(mean_and_spread(found), "" if found.n == len(seeds) else f"n {found.n}")


def _summary(runs: Runs, seeds: tuple[int, ...]) -> Summary | None:
    return summarise([value for seed, value in runs.values("accuracy").items() if seed in seeds])
