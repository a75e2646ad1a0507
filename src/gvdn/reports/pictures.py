"""Pictures of joined records: curves over a setting that is swept, or bars for each dataset, whichever suits a spec."""

from collections.abc import Callable, Mapping, Sequence

from gvdn.reports.figures import Curve, Value, bars, curves
from gvdn.reports.grids import METRICS, finished_datasets, lines
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.svg import PALETTE
from gvdn.reports.tables import titled
from gvdn.study import Row, Spec


def picture(joined: Joined) -> str | None:
    """The picture of any spec: curves where a setting is swept, else bars; None without a record or for many bars."""
    if not any(one.summary("accuracy") for one in joined.runs):
        return None
    return _curves(joined) if swept_settings(joined.spec) else _bars(joined)


def swept_settings(spec: Spec) -> list[str]:
    """The settings over which curves are drawn; none if some rows of one series do not sweep a single number."""
    series: dict[tuple[str, str], list[Row]] = {}
    for row in spec.rows:
        series.setdefault((row.group, row.series or row.label), []).append(row)
    found = [swept(rows) for rows in series.values() if len(rows) > 1]
    return [] if None in found else distinct(filter(None, found))


def swept(rows: Sequence[Row]) -> str | None:
    """The only setting in which rows differ, if it is a number; else None."""
    names = distinct(name for row in rows for name in (*row.split, *row.perturbation_settings, *row.settings))
    varied = [name for name in names if any(row.setting(name) != rows[0].setting(name) for row in rows)]
    numeric = len(varied) == 1 and all(type(row.setting(varied[0])) in (int, float) for row in rows)
    return varied[0] if numeric else None


def curve(runs: Sequence[Runs], metric: str) -> Curve:
    """A metric over the setting that is swept, for the runs that have it."""
    setting = swept([one.row for one in runs])
    points = [(float(one.row.setting(setting)) if setting else 0.0, mean_and_std(one.summary(metric))) for one in runs]
    found = sorted((x, *point) for x, point in points if point is not None)
    return [p[0] for p in found], [p[1] for p in found], [p[2] for p in found]


def bar_picture(joined: Joined, panels: Mapping[str, Mapping[str, Sequence[Value | None]]]) -> str:
    """A panel of bars for each name, with a group of bars for each finished dataset."""
    groups = [titled(dataset).replace(" (", "\n(") for dataset in finished_datasets(joined)]
    return bars(panels, groups, ylabel=METRICS["accuracy"][0], title=joined.spec.title)


def bar(joined: Joined, runs_on: Callable[[str], Runs | None], metric: str = "accuracy") -> list[Value | None]:
    """The values of one bar: those of the runs on each finished dataset."""
    found = [runs_on(dataset) for dataset in finished_datasets(joined)]
    return [mean_and_std(runs.summary(metric)) if runs else None for runs in found]


def _curves(joined: Joined) -> str:
    """A panel for each dataset, or with one dataset for accuracy and entropy; a curve for each series and mode.

    A series of one row does not depend on the setting that is swept, so it is a level line.
    """
    named: dict[str, list[Runs]] = {}
    for one in joined.runs:
        named.setdefault(_curve_name(joined, one), []).append(one)
    datasets = finished_datasets(joined)
    shown = [(titled(dataset), dataset, "accuracy") for dataset in datasets]
    if len(datasets) == 1:
        shown = [(metric, datasets[0], metric) for metric in ("accuracy", "entropy")]
    panels: dict[str, dict[str, Curve]] = {}
    levels: dict[str, dict[str, Value]] = {}
    for title, dataset, metric in shown:
        mine = {name: [one for one in runs if one.dataset == dataset] for name, runs in named.items()}
        panels[title] = {name: curve(runs, metric) for name, runs in mine.items() if len(runs) > 1}
        level = {name: mean_and_std(runs[0].summary(metric)) for name, runs in mine.items() if len(runs) == 1}
        levels[title] = {name: value for name, value in level.items() if value}
    ylabels = [METRICS[metric][0] for _, _, metric in shown]
    xlabel = joined.spec.xlabel or ", ".join(swept_settings(joined.spec))
    return curves(panels, xlabel=xlabel, ylabels=ylabels, title=joined.spec.title, levels=levels)


def _curve_name(joined: Joined, one: Runs) -> str:
    """The series, after its group where it has one, and with the mode where the series has several."""

    def series(runs: Runs) -> str:
        return ": ".join(filter(None, (runs.row.group, runs.row.series or runs.row.label)))

    several = len({other.mode for other in joined.runs if series(other) == series(one)}) > 1
    return f"{series(one)}, {one.mode}" if several else series(one)


def _bars(joined: Joined) -> str | None:
    """A panel for each group, a bar for each label and mode; with more bars than colours a panel for each mode too."""
    found = lines(joined)
    by_mode = len({slot[1:] for slot in found}) > len(PALETTE) or len({mode for _, _, mode in found}) == 1
    panels: dict[str, dict[str, list[Value | None]]] = {}
    for (group, label, mode), mine in found.items():
        title = ", ".join(filter(None, (group, mode if by_mode else "")))
        panels.setdefault(title, {})[label if by_mode else f"{label}, {mode}"] = bar(joined, mine.get)
    few = len({name for panel in panels.values() for name in panel}) <= len(PALETTE)
    return bar_picture(joined, panels) if few else None
