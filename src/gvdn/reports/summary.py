"""What a study found, in sentences for the first screen of its page."""

from collections.abc import Iterator

from gvdn.reports.comparison import Difference, contests, differences
from gvdn.reports.grids import finished_datasets
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.pictures import series_name, swept, swept_settings
from gvdn.reports.tables import number, signed, titled
from gvdn.study import Mode, Row

MOST = 6
"""The most sentences of a summary; the tables have the rest."""

STATES = {
    Mode.CLEAN: "on the clean graph",
    Mode.EVASION: "on the perturbed graph as it is",
    Mode.POISONING: "fitted on the perturbed graph",
    Mode.POISONING_RECOVERED: "fitted on the perturbed graph and recovered",
    Mode.POISONING_TRUSTED: "fitted on the perturbed graph with trust in front",
    Mode.RECOVERED: "after recovery",
    Mode.MAPPED: "after recovery",
    Mode.WITH_LOSSES: "after recovery",
    Mode.WITHHELD: "after recovery with nothing stored of the victims",
    Mode.NEW: "if the victims are new",
    Mode.RECOVERED_NEW: "if they are new and the model recovers",
}


def summary(joined: Joined) -> list[str]:
    """A sentence for each thing that happened to each graph: how the reference fares, and against the best other."""
    if not any(one.summary("accuracy") for one in joined.runs):
        return []
    found = list(_swept(joined) if swept_settings(joined.spec) else _compared(joined))
    more = [f"The tables have {len(found) - MOST} more."] if len(found) > MOST else []
    return found[:MOST] + more


def _compared(joined: Joined) -> Iterator[str]:
    groups = contests(joined)
    compared = differences(joined)
    for rows in groups:
        for dataset in finished_datasets(joined):
            told = _states(joined, rows[0], dataset)
            if told:
                under = _under(rows[0], several=len(groups) > 1)
                here = [one for one in compared if one.dataset == dataset and one.ours.row is rows[0]]
                yield " ".join([f"{titled(dataset)}{under}: {told}.", *_against(here)])


def _under(row: Row, *, several: bool) -> str:
    if row.perturbation == "none":
        return ""
    return f" under {row.group}" if several and row.group else f" under {row.perturbation}"


def _states(joined: Joined, row: Row, dataset: str) -> str:
    """How many of the victims a row has right in each of its modes, beginning with the clean graph."""
    mine = {one.mode: one for one in joined.runs if one.row is row and one.dataset == dataset}
    clean = next((found for one in mine.values() if (found := one.summary("clean.accuracy"))), None)
    words = [] if clean is None or Mode.CLEAN in mine else [f"{number(clean.mean)} % on the clean graph"]
    for mode, state in STATES.items():
        summary = mine[mode].summary("accuracy") if mode in mine else None
        if summary is not None and f"{number(summary.mean)} % {state}" not in words:
            words.append(f"{number(summary.mean)} % {state}")
    return f"{row.label} has {', '.join(words)}" if words else ""


def _against(found: list[Difference]) -> Iterator[str]:
    """The strongest other in each mode of the reference that is compared."""
    told = []
    for mode in dict.fromkeys(one.ours.mode for one in found):
        best = min((one for one in found if one.ours.mode == mode), key=lambda one: one.pair.difference.mean)
        told.append(f"{mode} {_verdict(best)}")
    if told:
        yield f"{found[0].ours.row.label} minus the best other: {'; '.join(told)}."


def _verdict(one: Difference) -> str:
    gap, other = one.pair.difference, f"({one.theirs.row.label}, {one.theirs.mode})"
    if gap.low is None or gap.high is None:
        return f"{signed(gap.mean)} points {other}, one seed, no interval"
    unsure = "level within a point" if one.level else "cannot be told apart"
    words = {True: "better", False: "worse", None: unsure}[one.positive]
    return f"{signed(gap.mean)} points [{signed(gap.low)}, {signed(gap.high)}] {other}, {words}"


def _swept(joined: Joined) -> Iterator[str]:
    """Each curve at both of its ends."""
    named: dict[tuple[str, str], list[Runs]] = {}
    for one in (one for one in joined.runs if one.dataset in finished_datasets(joined)):
        named.setdefault((one.dataset, series_name(joined, one)), []).append(one)
    for (dataset, name), runs in named.items():
        setting = swept([one.row for one in runs]) if len(runs) > 1 else None
        ends = sorted(
            (float(one.row.setting(setting)), found.mean)
            for one in runs
            if setting and (found := one.summary("accuracy"))
        )
        if len(ends) > 1:
            (first, low), (last, high) = ends[0], ends[-1]
            where = f"{number(low)} % at {first:g}, {number(high)} % at {last:g}"
            yield f"{titled(dataset)}: {name} has {where} of {joined.spec.xlabel or setting}."
