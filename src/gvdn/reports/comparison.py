"""One method against the others of a study: paired differences over the seeds, with intervals."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import Tested, corrected, paired
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table, beats, titled
from gvdn.study import Mode, Row
from gvdn.study.spec import SAME_METHOD

NOTE = (
    "Points of accuracy on the victims, mean over the seeds that both have, with the 95 % interval of Student's t for "
    "paired differences. The other method is taken in the mode with the highest mean on these same victims, which "
    "favours it. p: two-sided paired t test, with Holm's correction for all comparisons of the table. Bold: p is at "
    "most 0.05 and the difference above 0. Marked: below 0. Level: the mean surely lies between −1 and 1 point, by two "
    "one-sided paired t tests, p at most 0.05 with the same correction."
)

POISONED = (Mode.POISONING, Mode.POISONING_RECOVERED, Mode.POISONING_TRUSTED)
NOTHING_STORED = (Mode.EVASION, *POISONED, Mode.WITHHELD)
NEW = tuple(mode for mode in Mode if mode is Mode.RECOVERED_NEW or mode.startswith(Mode.NEW))
ARRIVING = (*NEW, *POISONED)
MAIN: dict[Mode, tuple[Mode, ...]] = {
    Mode.RECOVERED: tuple(mode for mode in Mode if mode not in NEW),
    Mode.WITHHELD: NOTHING_STORED,
    Mode.RECOVERED_NEW: ARRIVING,
}
"""Mode of a method that recovers -> the modes in which another method does the same task: with what was stored of the
victims, without it (the snapshot has it all the same), or for victims that were not there when it was fitted."""


@dataclass(frozen=True, kw_only=True)
class Difference(Tested):
    """The accuracy of one row in one mode minus that of another, on the same graphs, seeds and victims.

    The p-values are corrected for all comparisons of the reference in this mode.
    """

    dataset: str
    group: str
    """What happened to the graph, where the study has more than one."""
    ours: Runs
    theirs: Runs


def best_mode(joined: Joined, method: str, dataset: str) -> Runs | None:
    """The runs of a method in the mode with the highest mean accuracy; the first of equal ones."""
    return best_of([one for one in joined.runs if one.row.method == method and one.dataset == dataset])


def best_of(candidates: list[Runs]) -> Runs | None:
    """The runs with the highest mean accuracy; the first of equal ones, None if none has a record."""
    found = [(summary.mean, one) for one in candidates if (summary := one.summary("accuracy")) is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def contests(joined: Joined) -> list[list[Row]]:
    """The rows that were asked about the same graphs, the one of the reference first; curves are no such rows.

    Where the reference is `SAME_METHOD`, these are rows of one method, in the order of the spec.
    """
    groups: dict[str, list[Row]] = {}
    reference = joined.spec.reference or joined.spec.rows[0].method
    for row in (row for row in joined.spec.rows if not row.series):
        method = [row.method] if reference == SAME_METHOD else []
        asked = json.dumps([row.perturbation, row.perturbation_settings, row.split, *method], sort_keys=True)
        groups.setdefault(asked, []).append(row)
    return [sorted(rows, key=lambda row: row.method != reference) for rows in groups.values()]


def differences(joined: Joined) -> list[Difference]:
    """The reference minus every other row that was asked about the same graphs, dataset by dataset.

    A reference that recovers is taken in each mode of `MAIN`, the other in the best of the modes that fit; a reference
    that does not recover is taken in its best mode, as the other is. P-values are corrected for the comparisons that
    stand in one table: those of one row of the reference in one mode.
    """
    families: dict[tuple[str, str], list[Difference]] = {}
    order = list(_differences(joined))
    for one in order:
        families.setdefault(_family(one), []).append(one)
    tested = {family: iter(corrected(found)) for family, found in families.items()}
    return [next(tested[_family(one)]) for one in order]


def difference_tables(joined: Joined) -> list[Table]:
    """One table for each mode of the reference: a line for each other row, a column for each dataset."""
    found = differences(joined)
    tables = []
    for name, mode in distinct(map(_family, found)):
        mine = [one for one in found if _family(one) == (name, mode)]
        other = "row of the same method" if joined.spec.reference == SAME_METHOD else "method in its best mode"
        tables.append(_table(joined, mine, f"{name} ({mode}) minus each other {other}"))
    return tables


def _differences(joined: Joined) -> Iterator[Difference]:
    groups = contests(joined)
    for rows in groups:
        ours, *others = rows
        group = (ours.group or ours.perturbation) if len(groups) > 1 and joined.spec.reference != SAME_METHOD else ""
        for dataset in joined.spec.datasets:
            for mine, allowed in _tasks(joined, ours, dataset):
                for row in others:
                    theirs = best_of([one for one in _runs(joined, row, dataset) if one.mode in allowed])
                    pair = paired(mine.values("accuracy"), theirs.values("accuracy")) if theirs else None
                    if theirs and pair:
                        yield Difference(pair=pair, dataset=dataset, group=group, ours=mine, theirs=theirs)


def _tasks(joined: Joined, row: Row, dataset: str) -> list[tuple[Runs, tuple[Mode, ...]]]:
    """The runs of the reference that are compared, each with the modes of another method that fit."""
    mine = _runs(joined, row, dataset)
    found = [(one, MAIN[one.mode]) for mode in MAIN for one in mine if one.mode == mode and one.records]
    best = best_of(mine)
    return found or ([(best, tuple(Mode))] if best else [])


def _family(one: Difference) -> tuple[str, str]:
    """What the comparisons of one table share: the row of the reference and its mode."""
    return one.ours.row.label, _task(one.ours)


def _task(runs: Runs) -> str:
    return str(runs.mode) if runs.mode in MAIN else "in its best mode"


def _table(joined: Joined, found: list[Difference], title: str) -> Table:
    datasets = [name for name in joined.spec.datasets if any(one.dataset == name for one in found)]
    lines = []
    for group, label in distinct((one.group, one.theirs.row.label) for one in found):
        at = {one.dataset: one for one in found if (one.group, one.theirs.row.label) == (group, label)}
        lines.append(Line(label, [_entry(at.get(name)) for name in datasets], group))
    return Table(title, list(map(titled, datasets)), lines, NOTE)


def _entry(one: Difference | None) -> Entry:
    if one is None:
        return Entry(NOT_RUN)
    return beats(one.pair, one.theirs.mode, usual=one.ours.asked, p=one.p, p_level=one.p_level)


def _runs(joined: Joined, row: Row, dataset: str) -> list[Runs]:
    return [one for one in joined.runs if one.row is row and one.dataset == dataset]
