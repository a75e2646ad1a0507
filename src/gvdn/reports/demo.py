"""The table, the summary and the page of `gvdn demo`, drawn from the records of its spec."""

from pathlib import Path

from gvdn.reports.figures import Value, dot_rows
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.page import section, write_page
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import NOT_RUN, Entry, Line, Table
from gvdn.study import Mode, Row

COLUMNS = ["victims", "clean", "perturbed", "recovered", "withheld", "snapshot"]

PERTURBED = (Mode.EVASION, Mode.NEW)
"""Modes whose scores are those of the model as it is, on the perturbed graph."""

RECOVERED = (Mode.RECOVERED, Mode.MAPPED, Mode.WITH_LOSSES, Mode.RECOVERED_NEW)
"""Modes whose scores are those of the recovered model; they differ in what else is recorded."""

NOTHING = "nothing"
"""What the snapshot says of a node that was not there."""

NOTE = (
    "Accuracy on the victims. Perturbed: the model as it is, on the perturbed graph. Withheld: recovered without what "
    "was stored of the victims. Snapshot: the prediction from before the perturbation, returned; it says nothing of "
    "nodes that were not there."
)


def demo_table(joined: Joined) -> Table:
    """A line for each row of the spec, which is one perturbation: accuracies on the victims.

    The snapshot is the prediction of the clean graph returned unchanged, so its accuracy is the clean one; there is
    none of a node that was not there. Of such a node nothing is stored either, so there is nothing to withhold.
    """
    return Table("Perturbed, and recovered", COLUMNS, [_line(joined, row) for row in joined.spec.rows], NOTE)


def why_not_yesterday(joined: Joined) -> str:
    """The answer to the first question: why not return the predictions from before? Empty without new nodes."""
    for row in joined.spec.rows:
        mine = _runs(joined, row)
        as_is, healed = mine.get(Mode.NEW), mine.get(Mode.RECOVERED_NEW)
        if as_is and healed:
            count, clean = as_is.summary("nodes"), _shown(as_is, "clean.accuracy")
            return (
                "Why not return yesterday's predictions? For nodes that existed yesterday, do: they are as good as the "
                f"clean model. But {count.mean if count else 0:,.0f} nodes that arrived since, with hostile links, "
                "have none: of them the snapshot says nothing, the model as it is has "
                f"{_shown(as_is, 'accuracy')} right, the recovered model {_shown(healed, 'accuracy')} (without the "
                f"hostile links: {clean})."
            )
    return ""


def write_demo(path: Path, joined: Joined, *, opening: str, suspicion: str = "") -> None:
    """The page of any study, with an opening sentence of its own, the answer to the first question, and the table."""
    words = [opening, why_not_yesterday(joined), suspicion]
    svg = _picture(joined)
    write_page(
        path,
        {joined.spec.name: joined},
        [section(joined)],
        title=joined.spec.title,
        summary=[sentence for sentence in words if sentence],
        first=(svg, "") if svg else None,
        lead=demo_table(joined),
    )


def _picture(joined: Joined) -> str:
    """A row for each line of the table, a mark for each of its accuracies."""
    rows: dict[str, dict[str, Value]] = {}
    for row in joined.spec.rows:
        for column, (runs, metric) in _columns(joined, row).items():
            if runs and (value := mean_and_std(runs.summary(metric))):
                rows.setdefault(row.label, {})[column] = value
    return dot_rows({"": rows}, xlabel="accuracy in % on the victims", title=joined.spec.title) if rows else ""


def _columns(joined: Joined, row: Row) -> dict[str, tuple[Runs | None, str]]:
    """Column -> the runs and the metric that it is read from."""
    mine = _runs(joined, row)
    as_is = next((mine[mode] for mode in PERTURBED if mode in mine), None)
    recovered = next((mine[mode] for mode in RECOVERED if mode in mine), None)
    return {
        "clean": (recovered or as_is, "clean.accuracy"),
        "perturbed": (as_is, "accuracy"),
        "recovered": (recovered, "accuracy"),
        "withheld": (mine.get(Mode.WITHHELD), "accuracy"),
    }


def _line(joined: Joined, row: Row) -> Line:
    found = _columns(joined, row)
    victims = found["clean"][0].summary("nodes") if found["clean"][0] else None
    texts = {column: _shown(*where) for column, where in found.items()}
    new = Mode.NEW in row.modes
    texts |= {"victims": NOT_RUN if victims is None else f"{victims.mean:,.0f}"}
    texts |= {"snapshot": NOTHING if new and victims else texts["clean"]}
    return Line(row.label, [Entry(texts[column]) for column in COLUMNS])


def _runs(joined: Joined, row: Row) -> dict[Mode, Runs]:
    return {one.mode: one for one in joined.runs if one.row is row and one.records}


def _shown(runs: Runs | None, metric: str) -> str:
    summary = runs.summary(metric) if runs else None
    return NOT_RUN if summary is None else f"{summary.mean:.1f}%"
