"""Pictures of joined records: bars for each dataset, curves over a setting that is swept, or whichever suits a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gvdn.reports.figures import Curve, Value, bars, curves
from gvdn.reports.grids import METRICS, finished_datasets, lines
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.tables import titled
from gvdn.study import Mode, Row

FEW = 8
"""Lines of a grid that bars can still show."""

PAIR = ("accuracy", "entropy")
"""The metrics of a picture with a panel for each."""


def picture(joined: Joined) -> str | None:
    """The picture of any spec: curves where every series sweeps one setting, bars where it has few lines, else None."""
    if not any(one.summary("accuracy") for one in joined.runs):
        return None
    series: dict[str, list[Row]] = {}
    for row in joined.spec.rows:
        series.setdefault(row.series, []).append(row)
    settings = distinct(swept(rows) for rows in series.values())
    if None not in settings:
        return _curves(joined, xlabel=", ".join(filter(None, settings)))
    found = lines(joined)
    if len(found) > FEW:
        return None
    several = len({mode for _, _, mode in found}) > 1
    names = [", ".join(filter(None, slot if several else slot[:2])) for slot in found]
    values = [bar(joined, mine) for mine in found.values()]
    return bar_picture(joined, {"": dict(zip(names, values, strict=True))})


def bar_picture(joined: Joined, panels: Mapping[str, Mapping[str, Sequence[Value | None]]]) -> str:
    """A panel of bars for each name, with a group of bars for each finished dataset."""
    groups = [titled(dataset).replace(" (", "\n(") for dataset in finished_datasets(joined)]
    return bars(panels, groups, ylabel=METRICS["accuracy"][0], title=joined.spec.title)


def bar(joined: Joined, mine: Mapping[str, Runs], metric: str = "accuracy") -> list[Value | None]:
    """The values of one bar: those of the runs of each finished dataset."""
    found = [mine.get(dataset) for dataset in finished_datasets(joined)]
    return [mean_and_std(runs.summary(metric)) if runs else None for runs in found]


def bar_of(joined: Joined, mode: Mode, metric: str = "accuracy", **asked: Any) -> list[Value | None]:
    """The values of one bar: those of the row that is asked for, on each finished dataset."""
    found = {dataset: joined.find(dataset, mode, **asked) for dataset in finished_datasets(joined)}
    return bar(joined, {dataset: runs for dataset, runs in found.items() if runs}, metric)


def curve_picture(
    joined: Joined,
    named: Mapping[str, Sequence[Runs]],
    *,
    xlabel: str,
    levels: Mapping[str, Runs] | None = None,
) -> str:
    """Accuracy and entropy in a panel each: a curve for each name over the setting that its runs sweep.

    `levels` are runs that do not depend on that setting, drawn as level lines.
    """
    panels, flat = {}, {}
    for metric in PAIR:
        panels[metric] = {name: curve(runs, metric) for name, runs in named.items() if runs}
        found = {name: mean_and_std(runs.summary(metric)) for name, runs in (levels or {}).items()}
        flat[metric] = {name: value for name, value in found.items() if value}
    ylabels = [METRICS[metric][0] for metric in PAIR]
    return curves(panels, xlabel=xlabel, ylabels=ylabels, title=joined.spec.title, levels=flat)


def curve(runs: Sequence[Runs], metric: str) -> Curve:
    """A metric over the setting that is swept, for the runs that have it."""
    setting = swept([one.row for one in runs])
    points = [(one.row.setting(setting) if setting else 0.0, mean_and_std(one.summary(metric))) for one in runs]
    found = sorted((x, *point) for x, point in points if point is not None)
    return [p[0] for p in found], [p[1] for p in found], [p[2] for p in found]


def swept(rows: Sequence[Row]) -> str | None:
    """The only setting in which rows differ, if it is a number; else None."""
    names = distinct(name for row in rows for name in (*row.split, *row.perturbation_settings, *row.settings))
    varied = [name for name in names if any(row.setting(name) != rows[0].setting(name) for row in rows)]
    numeric = len(varied) == 1 and all(type(row.setting(varied[0])) in (int, float) for row in rows)
    return varied[0] if numeric else None


def _curves(joined: Joined, *, xlabel: str) -> str:
    """A curve for each series and mode: a panel for each dataset, or with one dataset for accuracy and entropy."""
    several = len({one.mode for one in joined.runs}) > 1
    named: dict[str, list[Runs]] = {}
    for one in joined.runs:
        named.setdefault(f"{one.row.series}, {one.mode}" if several else one.row.series, []).append(one)
    datasets = finished_datasets(joined)
    if len(datasets) == 1:
        mine = {name: [one for one in runs if one.dataset == datasets[0]] for name, runs in named.items()}
        return curve_picture(joined, mine, xlabel=xlabel)
    panels = {
        titled(dataset): {
            name: curve([one for one in runs if one.dataset == dataset], "accuracy") for name, runs in named.items()
        }
        for dataset in datasets
    }
    ylabels = [METRICS["accuracy"][0]] * len(panels)
    return curves(panels, xlabel=xlabel, ylabels=ylabels, title=joined.spec.title)
