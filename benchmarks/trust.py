"""The tables and pictures of docs/trust.md, drawn from results/trust.

    PYTHONPATH=src python benchmarks/trust.py

A page has a pair of comments where a table belongs, and what stands between them is replaced. The records are those of
`benchmarks/trust.toml` and `benchmarks/trust-front.toml`, as far as they were run (`gvdn bench run …`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import drawn_pages

from gvdn.reports.figures import NARROW, Value, dot_rows
from gvdn.reports.joined import Joined, joined_from
from gvdn.reports.page import write_whole
from gvdn.reports.recoveries import choices_table, links_table
from gvdn.reports.statistics import Summary, mean_and_std
from gvdn.reports.svg import standalone
from gvdn.reports.tables import MARK, NOT_RUN, Entry, Line, Table, number, signed
from gvdn.study import Mode, load_spec, records_by_key

HERE = Path(__file__).parent
PAGES = ("docs/trust.md",)

WRONG, PRBCD, NETTACK = "wrong links, 5", "PRBCD 5 %", "nettack as seen"
NOTHING, THROUGH = "nothing perturbed", "PRBCD through trust, 5 %"
MIXED, INJECTION = "wrong links, 5, and a wrong row", "node injection"
PICTURED = (
    *(WRONG, MIXED, INJECTION, "random connections", NETTACK, "nettack, words"),
    *(PRBCD, "PRBCD 10 %", THROUGH),
)
"""Perturbations that the picture of new victims has: not those that cost little, and not PRBCD 1 %."""

STATES = {
    "stored: clean": (Mode.EVASION, "clean.accuracy"),
    "stored: as it is": (Mode.EVASION, "accuracy"),
    "stored: recovered": (Mode.RECOVERED, "accuracy"),
    "withheld: recovered": (Mode.WITHHELD, "accuracy"),
    "new: clean": (Mode.NEW, "clean.accuracy"),
    "new: as it is": (Mode.NEW, "accuracy"),
    "new: recovered": (Mode.RECOVERED_NEW, "accuracy"),
}
"""What the victims are and what was done -> where GVDN's records have it."""

FIELD = {
    "GCN, clean graph": ("gcn", Mode.NEW, "clean.accuracy"),
    "GPR-GAE, clean graph": ("gpr-gae", Mode.NEW, "clean.accuracy"),
    "MLP": ("mlp", Mode.NEW, "accuracy"),
    "GCN": ("gcn", Mode.NEW, "accuracy"),
    "GCN with the guard": ("gcn", Mode.NEW_GUARDED, "accuracy"),
    "GPR-GAE and GCN": ("gpr-gae", Mode.NEW, "accuracy"),
    "rows alone": ("gcn", Mode.NEW_STUDENT, "accuracy"),
    "links alone": ("gcn", Mode.NEW_LINKS, "accuracy"),
    "GCN, weighed graph": ("gcn", Mode.NEW_WEIGHED, "accuracy"),
    "GCN with trust": ("gcn", Mode.NEW_TRUSTED, "accuracy"),
    "GVDN with trust": ("gvdn", Mode.RECOVERED_NEW, "accuracy"),
}
"""What answers for new victims -> its method, mode and metric."""

REFERENCES = ("gcn", "mlp", "gpr-gae")
"""Methods of the spec `trust-front` that tables of their own have."""

SECONDS = {
    "GCN: fit": ("gcn", Mode.NEW, "seconds.fit"),
    "GPR-GAE and its GCN: fit": ("gpr-gae", Mode.NEW, "seconds.fit"),
    "trust for a fitted GCN: fit and first answers": ("gcn", Mode.NEW_TRUSTED, "seconds.answer"),
}
"""Under wrong links, which come first in the spec: later cells may find a trust model that was fitted before."""

FLOORS = {
    "stored: recovered": ("stored: as it is", "stored: clean"),
    "withheld: recovered": ("stored: as it is",),
    "new: recovered": ("new: as it is",),
}
"""What was recovered -> what it must not fall below; clean is the accuracy of the answers that are stored."""

BELOW, COST = 0.5, 0.3
"""Points that a recovery may fall below its floor, under any perturbation and where nothing was perturbed."""

SHARE, LOST = 50.0, 5.0
"""Percentage of the loss that was wanted back under the attack through trust; the least loss that has a percentage."""

WITHIN = 3.0
WANTED = {PRBCD: (80.0, 73.0, 80.0, 90.0, 91.0), NETTACK: (72.0, 64.0, 78.0, 66.0, 32.0)}
"""What was wanted: new victims of wrong links within so many points of clean, and these accuracies of withheld ones."""


class Trust:
    """Both specs with their records."""

    def __init__(self, records: Path) -> None:
        found = records_by_key(records)
        self.own, self.front = (
            joined_from(load_spec(HERE / f"{name}.toml"), found) for name in ("trust", "trust-front")
        )
        self.datasets = self.own.spec.datasets
        measured = {run.row.group for run in self.own.runs if run.records}
        self.groups = tuple(row.group for row in self.own.spec.rows if row.group in measured)
        """The perturbations of the spec `trust` that have records, in its order."""

    def state(self, group: str, state: str, dataset: str) -> Summary | None:
        mode, metric = STATES[state]
        return _summary(self.own, dataset, mode, metric, group=group)

    def answered(self, group: str, asked: tuple[str, Mode, str], dataset: str) -> Summary | None:
        method, mode, metric = asked
        joined = self.own if method == "gvdn" else self.front
        return _summary(joined, dataset, mode, metric, group=group, method=method)

    def above(self, group: str, state: str, dataset: str) -> float | None:
        """How far a recovered state is above the highest of its floors; negative where it fell below."""
        reached, *floors = (self.state(group, one, dataset) for one in (state, *FLOORS[state]))
        return reached.mean - max(one.mean for one in floors if one) if reached and any(floors) else None

    def returned(self, group: str, state: str, dataset: str) -> float | None:
        """The percentage of what victims lost against clean that comes back; None where they lost less than `LOST`."""
        asked = "new" if state.startswith("new") else "stored"
        clean, lost, reached = (
            self.state(group, one, dataset) for one in (f"{asked}: clean", f"{asked}: as it is", state)
        )
        if clean is None or lost is None or reached is None or clean.mean - lost.mean < LOST:
            return None
        return 100 * (reached.mean - lost.mean) / (clean.mean - lost.mean)


def _summary(joined: Joined, dataset: str, mode: Mode, metric: str, **asked: str) -> Summary | None:
    runs = joined.find(dataset, mode, **asked)
    return runs.summary(metric) if runs else None


def states_table(trust: Trust, group: str) -> Table:
    """GVDN under one perturbation; datasets on which it was not asked for have no column."""
    held = [name for name in trust.datasets if trust.state(group, "new: clean", name)]
    lines = [Line(state, [_entry(trust.state(group, state, name), trust.own) for name in held]) for state in STATES]
    return Table(group, held, lines)


def floor_table(trust: Trust, state: str) -> Table:
    """How far a recovery is above its floor under each perturbation, with a mark where it fell too far below."""

    def entry(value: float | None) -> Entry:
        if value is None:
            return Entry(NOT_RUN)
        return Entry(signed(value), MARK if round(value, 1) < -BELOW else "")

    lines = [Line(group, [entry(trust.above(group, state, name)) for name in trust.datasets]) for group in trust.groups]
    return Table(state, list(trust.datasets), lines)


def returned_table(trust: Trust) -> Table:
    """How much of what new victims lost comes back, under each perturbation with a loss."""
    lines = []
    for group in trust.groups:
        shares = [trust.returned(group, "new: recovered", name) for name in trust.datasets]
        if any(share is not None for share in shares):
            entries = [Entry(NOT_RUN if share is None else f"{number(share, 0)} %") for share in shares]
            lines.append(Line(group, entries))
    return Table("returned", list(trust.datasets), lines)


def field_table(trust: Trust, group: str) -> Table:
    """What answers for new victims under one perturbation."""
    lines = [
        Line(name, [_entry(trust.answered(group, asked, dataset), trust.front) for dataset in trust.datasets])
        for name, asked in FIELD.items()
    ]
    return Table(group, list(trust.datasets), lines)


def front_table(trust: Trust, group: str) -> Table:
    """Every defence as it is and with trust in front, under one perturbation, where it was asked."""
    rows = [row for row in trust.front.spec.rows if row.group == group and row.method not in REFERENCES]
    asked = [name for name in trust.datasets if any(name in row.datasets for row in rows)]

    def entry(method: str, dataset: str) -> Entry:
        both = [trust.answered(group, (method, mode, "accuracy"), dataset) for mode in (Mode.NEW, Mode.NEW_TRUSTED)]
        return Entry(" → ".join(number(one.mean) for one in both if one) or NOT_RUN)

    return Table(group, asked, [Line(row.method, [entry(row.method, name) for name in asked]) for row in rows])


def seconds_table(trust: Trust) -> Table:
    """What a fit of GPR-GAE takes, and what one of trust takes."""
    lines = [
        Line(name, [_entry(trust.answered(WRONG, asked, dataset), trust.front) for dataset in trust.datasets])
        for name, asked in SECONDS.items()
    ]
    return Table("seconds", list(trust.datasets), lines)


def wanted_table(trust: Trust) -> Table:
    """What was reached, what was wanted, and a mark where it was missed."""
    new, mlp = FIELD["GVDN with trust"], FIELD["MLP"]

    def less(first: Summary | None, second: Summary | None, least: float) -> Entry:
        return _judged(first.mean - second.mean if first and second else None, least, signed)

    distances, leads = [], []
    for name in trust.datasets:
        reached = trust.answered(WRONG, new, name)
        distances.append(less(reached, trust.state(WRONG, "new: clean", name), -WITHIN))
        leads.append(less(reached, trust.answered(WRONG, mlp, name), 0.0))
    lines = [
        Line("new, minus clean", distances, WRONG),
        Line("new, minus an MLP", leads, WRONG),
    ]
    for group, wanted in WANTED.items():
        found = [trust.state(group, "withheld: recovered", name) for name in trust.datasets]
        entries = [_judged(one.mean if one else None, least, number) for one, least in zip(found, wanted, strict=True)]
        lines.append(Line("withheld", entries, group))
    for state in FLOORS:
        values = [trust.above(NOTHING, state, name) for name in trust.datasets]
        entries = [_judged(value, -COST, signed, digits=1) for value in values]
        lines.append(Line(f"{state.split(':')[0]}, minus as it is", entries, NOTHING))
    for state in ("withheld: recovered", "new: recovered"):
        values = [trust.returned(THROUGH, state, name) for name in trust.datasets]
        entries = [_judged(value, SHARE, lambda share: number(share, 0)) for value in values]
        lines.append(Line(f"{state.split(':')[0]}, % of the loss", entries, THROUGH))
    return Table("wanted", list(trust.datasets), lines)


def _judged(value: float | None, least: float, written: Callable[[float], str], digits: int = 0) -> Entry:
    """A value, and in small letters the least one that was wanted, marked where it was missed."""
    if value is None:
        return Entry(NOT_RUN)
    missed = round(value, 1) < least
    return Entry(written(value), f"{number(least, digits)}{f' {MARK}' if missed else ''}")


def _entry(summary: Summary | None, joined: Joined) -> Entry:
    """A mean, and how many seeds it has where it lacks some."""
    if summary is None:
        return Entry(NOT_RUN)
    return Entry(number(summary.mean), "" if summary.n == len(joined.spec.seeds) else f"{summary.n} seeds")


def new_picture(trust: Trust) -> str:
    """A panel for each perturbation: new victims on the clean graph, as they are, and recovered."""
    shown = [state for state in STATES if state.startswith("new: ")]
    panels: dict[str, dict[str, dict[str, Value]]] = {}
    for group in PICTURED:
        for name in trust.datasets:
            for state in shown:
                if value := mean_and_std(trust.state(group, state, name)):
                    panels.setdefault(group, {}).setdefault(name, {})[state.removeprefix("new: ")] = value
    return _drawn(panels, "GVDN with trust, new victims", 0.21)


def field_picture(trust: Trust) -> str:
    """A panel for each of two perturbations: a row for each that answers, a mark for each graph."""
    panels: dict[str, dict[str, dict[str, Value]]] = {}
    for group in (WRONG, PRBCD):
        for name, asked in FIELD.items():
            for dataset in trust.datasets:
                if value := mean_and_std(trust.answered(group, asked, dataset)):
                    panels.setdefault(group, {}).setdefault(name, {})[dataset] = value
    return _drawn(panels, "What answers for new victims", 0.3)


def _drawn(panels: Mapping[str, Mapping[str, Mapping[str, Value]]], title: str, high: float) -> str:
    xlabel = "accuracy in % on the victims"
    return standalone(dot_rows(panels, xlabel=xlabel, title=title, wide=NARROW, high=high, joined=True))


def pictures(trust: Trust) -> dict[str, str]:
    """Name of a file in docs/ -> the picture."""
    return {"trust-new.svg": new_picture(trust), "trust-field.svg": field_picture(trust)}


def tables(trust: Trust) -> dict[str, str]:
    """Name of a table in a page -> its lines in Markdown."""
    found = {group: states_table(trust, group) for group in trust.groups}
    found |= {f"floor, {state.split(':')[0]}": floor_table(trust, state) for state in FLOORS}
    found |= {"returned": returned_table(trust)}
    found |= {f"{group}, who answers": field_table(trust, group) for group in (WRONG, PRBCD)}
    found |= {f"{group}, in front": front_table(trust, group) for group in (WRONG, PRBCD)}
    found |= {"wanted": wanted_table(trust), "links": links_table(trust.own), "ways": choices_table(trust.own)}
    found |= {"seconds": seconds_table(trust)}
    return {name: "\n".join(re.findall(r"^\|.*$", table.markdown(), re.MULTILINE)) for name, table in found.items()}


def main() -> None:
    root = HERE.parent
    trust = Trust(root / "results" / "trust")
    drawn = tables(trust)
    for page in PAGES:
        write_whole(root / page, drawn_pages.filled((root / page).read_text(encoding="utf-8"), drawn))
    for name, picture in pictures(trust).items():
        write_whole(root / "docs" / name, picture)


if __name__ == "__main__":
    main()
