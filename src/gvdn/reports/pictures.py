"""Pictures of joined records: curves over a setting that is swept, or a row of dots for each method."""

from collections.abc import Callable, Mapping, Sequence

from gvdn.reports.figures import Curve, Value, bars, curves, dot_rows
from gvdn.reports.grids import METRICS, finished_datasets, lines
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.svg import PALETTE
from gvdn.reports.tables import titled
from gvdn.study import Row, Spec


def picture(joined: Joined) -> str | None:
    """The picture of any spec: curves where a setting is swept, else rows of dots; None without a record."""
    if not any(one.summary("accuracy") for one in joined.runs):
        return None
    return _curves(joined) if swept_settings(joined.spec) else _rows(joined)


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
    groups = [titled(name) for name in finished_datasets(joined)]
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
        named.setdefault(series_name(joined, one), []).append(one)
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


def series_name(joined: Joined, one: Runs) -> str:
    """The series, after its group where it has one, and with the mode where the series has several."""

    def series(runs: Runs) -> str:
        return ": ".join(filter(None, (runs.row.group, runs.row.series or runs.row.label)))

    several = len({other.mode for other in joined.runs if series(other) == series(one)}) > 1
    return f"{series(one)}, {one.mode}" if several else series(one)


def _rows(joined: Joined) -> str:
    """Accuracies as rows of dots, in whichever of two arrangements has fewer panels.

    Either a panel for each group on each dataset, with a row for each label and a mark for each mode; or a panel for
    each group and mode, with a row for each dataset and a mark for each label, if there are colours enough.
    """
    by_dataset: Panels = {}
    by_mode: Panels = {}
    datasets, found = finished_datasets(joined), lines(joined)
    groups, modes = ({slot[part] for slot in found} for part in (0, 2))
    for (group, label, mode), mine in found.items():
        for dataset in datasets:
            value = mean_and_std(mine[dataset].summary("accuracy")) if dataset in mine else None
            if value:
                name = titled(dataset)
                where = ", ".join([group] * (len(groups) > 1) + [name] * (len(datasets) > 1)) or group or name
                how = ", ".join([group] * (len(groups) > 1) + [str(mode)] * (len(modes) > 1)) or str(mode)
                by_dataset.setdefault(where, {}).setdefault(label, {})[str(mode)] = value
                by_mode.setdefault(how, {}).setdefault(name, {})[label] = value
    few = len({label for _, label, _ in found}) <= len(PALETTE)
    panels = by_mode if few and len(by_mode) < len(by_dataset) else by_dataset
    return dot_rows(panels, xlabel="accuracy in % on the victims", title=joined.spec.title)


Panels = dict[str, dict[str, dict[str, Value]]]
"""Title of a panel -> row -> mark -> its value."""
