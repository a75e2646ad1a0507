"""Which picture belongs to which spec, from joined records; figures.py draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gvdn.reports.compare import finished_datasets
from gvdn.reports.figures import Curve, Dot, Value, bars, curves, dots
from gvdn.reports.joined import Joined, Runs, distinct
from gvdn.reports.losses import loss_picture
from gvdn.reports.maps import map_picture
from gvdn.reports.statistics import mean_and_std
from gvdn.reports.table2 import STATES
from gvdn.reports.table3 import TEN, UNSEEN, best_mode
from gvdn.reports.tables import percent, titled

PERCENT = {"accuracy": "accuracy in %", "entropy": "normalised entropy in %"}


def picture(joined: Joined) -> str | None:
    """The spec's picture as SVG; None where nothing was measured or there is nothing to draw."""
    draw = _PICTURES.get(joined.spec.name)
    return draw(joined) if draw is not None and joined.records else None


def _table2(joined: Joined) -> str:
    panels = {
        row.label: {
            state: _values(joined, mode, f"{before}accuracy", label=row.label)
            for state, (mode, before) in STATES.items()
        }
        for row in joined.spec.rows
    }
    return _bars(panels, joined)


def _table3(joined: Joined) -> str:
    """Five bars per dataset: GVDN recovered and unseen, the best of its nine competitors, and two references."""
    series: dict[str, list[Value | None]] = {}
    for dataset in finished_datasets(joined):
        rivals = [runs for method in TEN[:-1] if (runs := best_mode(joined, method, dataset))]
        best = max(rivals, key=lambda runs: _mean(runs), default=None)
        shown = {
            "gvdn, recovered": joined.find(dataset, "recovered", method="gvdn"),
            "gvdn, unseen": joined.find(dataset, UNSEEN, method="gvdn"),
            "the best of the other nine": best,
            "gcn-retrained": joined.find(dataset, "in training", method="gcn-retrained"),
            "gcn, afterwards": joined.find(dataset, "afterwards", method="gcn"),
        }
        for name, runs in shown.items():
            series.setdefault(name, []).append(mean_and_std(runs.summary("accuracy")) if runs else None)
    panels = {"accuracy on the victims": series}
    return _bars(panels, joined)


def _figure2(joined: Joined) -> str:
    dataset = joined.spec.datasets[0]
    panels: dict[str, dict[str, Curve]] = {}
    levels: dict[str, dict[str, tuple[float, float]]] = {}
    for metric in PERCENT:
        swept: dict[str, list[Runs]] = {}
        for one in (one for one in joined.runs if "noise_weight" in one.row.settings):
            swept.setdefault(one.row.settings.get("aggregator", "vanilla gvdn, weight held"), []).append(one)
        panels[metric] = {name: _curve(runs, "noise_weight", metric) for name, runs in swept.items()}
        vanilla = joined.find(dataset, "clean", label="vanilla gvdn")
        level = mean_and_std(vanilla.summary(metric)) if vanilla else None
        levels[metric] = {"vanilla gvdn, weights learned": level} if level else {}
    return curves(
        panels, xlabel="weight of the noise", ylabels=list(PERCENT.values()), title=joined.spec.title, levels=levels
    )


def _figure3(joined: Joined) -> str:
    panels: dict[str, dict[str, list[Value | None]]] = {}
    shown = {
        "clean": (True, "afterwards", "clean accuracy"),
        "perturbed": (True, "afterwards", "accuracy"),
        "recovered, no diffusion": (False, "recovered", "accuracy"),
        "recovered, diffusion": (True, "recovered", "accuracy"),
    }
    for rate in distinct(row.perturbation_settings["rate"] for row in joined.spec.rows):
        panels[f"{percent(rate)} perturbators"] = {
            name: _values(joined, mode, metric, rate=rate, diffusion=diffusion)
            for name, (diffusion, mode, metric) in shown.items()
        }
    return _bars(panels, joined)


def _figure4(joined: Joined) -> str:
    series = {
        sampler: _values(joined, "recovered", sampler=sampler)
        for sampler in distinct(row.settings["sampler"] for row in joined.spec.rows)
    }
    panels = {"recovered accuracy": series}
    return _bars(panels, joined)


def _figure8(joined: Joined) -> str:
    panels = {}
    for dataset in finished_datasets(joined):
        mine = [one for one in joined.runs if one.dataset == dataset]
        recovered, fitted = ([one for one in mine if (one.mode == "recovered") is is_it] for is_it in (True, False))
        lines = {
            "recovered": _curve(recovered, "gamma_min", "accuracy"),
            "before the perturbation": _curve(recovered, "gamma_min", "clean accuracy"),
            "validation": _curve(fitted, "gamma_min", "validation"),
        }
        panels[dataset] = {name: line for name, line in lines.items() if line[0]}
    upright = {dataset: float(value) for dataset, value in joined.spec.paper.get("gamma_min", {}).items()}
    labels = [PERCENT["accuracy"]] * len(panels)
    return curves(panels, xlabel="smallest diffusion rate", ylabels=labels, title=joined.spec.title, upright=upright)


def _figure9(joined: Joined) -> str:
    """A curve per weight, of rows that change nothing else, and for the victims of whom nothing was stored."""
    swept: dict[str, list[Runs]] = {}
    for one in (one for one in joined.runs if len(one.row.settings) == 1):
        (name,) = one.row.settings
        swept.setdefault(name if one.mode == "recovered" else f"{name}, victims unseen", []).append(one)
    panels = {
        metric: {name: _curve(runs, name.partition(",")[0], metric) for name, runs in swept.items()}
        for metric in PERCENT
    }
    return curves(panels, xlabel="weight of the loss", ylabels=list(PERCENT.values()), title=joined.spec.title)


def _noisy(joined: Joined) -> str:
    modes = {"before": "in training", "after retraining": "in training, recovered"}
    panels = {
        metric: {
            name: _curve([one for one in joined.runs if one.mode == mode], "ratio", metric)
            for name, mode in modes.items()
        }
        for metric in PERCENT
    }
    return curves(panels, xlabel="share of wrong labels", ylabels=list(PERCENT.values()), title=joined.spec.title)


def _sparse(joined: Joined) -> str:
    names = distinct(one.row.label.split(",")[0] for one in joined.runs)
    panels = {
        metric: {
            name: _curve([one for one in joined.runs if one.row.label.split(",")[0] == name], "train", metric)
            for name in names
        }
        for metric in PERCENT
    }
    return curves(panels, xlabel="share of labelled nodes", ylabels=list(PERCENT.values()), title=joined.spec.title)


def _unseen(joined: Joined) -> str:
    """A panel per perturbation; of a method that can be trained anew, that mode alone."""
    panels: dict[str, dict[str, list[Value | None]]] = {}
    for row in joined.spec.rows:
        perturbation, method = row.label.split(": ")
        mode = row.modes[-1]
        name = method if len(row.modes) == 1 else f"{method}, {mode}"
        panels.setdefault(perturbation, {})[name] = _values(joined, mode, label=row.label)
    return _bars(panels, joined)


def _additions(joined: Joined) -> str:
    """A panel per perturbation and mode, a bar per addition that is switched off."""
    panels: dict[str, dict[str, list[Value | None]]] = {}
    for row in joined.spec.rows:
        perturbation, name = row.label.split(": ")
        for mode in row.modes:
            panels.setdefault(f"{perturbation}, {mode}", {})[name] = _values(joined, mode, label=row.label)
    return _bars(panels, joined)


def _calibration(joined: Joined) -> str:
    """A panel per dataset: how unsure each method says that it is, and how far that is from the truth."""
    panels: dict[str, dict[str, list[Dot]]] = {dataset: {} for dataset in finished_datasets(joined)}
    for one in joined.runs:
        entropy, ece = (mean_and_std(one.summary(metric)) for metric in ("entropy", "ece"))
        if one.dataset in panels and entropy is not None and ece is not None:
            panels[one.dataset].setdefault(one.row.method, []).append((one.mode, entropy, ece))
    panels = {titled(dataset): found for dataset, found in panels.items()}
    return dots(panels, xlabel=PERCENT["entropy"], ylabel="calibration error in %", title=joined.spec.title)


def _bars(panels: Mapping[str, Mapping[str, Sequence[Value | None]]], joined: Joined) -> str:
    """A group of bars per dataset that is finished."""
    groups = [titled(dataset).replace(" (", "\n(") for dataset in finished_datasets(joined)]
    return bars(panels, groups, ylabel=PERCENT["accuracy"], title=joined.spec.title)


def _values(joined: Joined, mode: str, metric: str = "accuracy", **asked: Any) -> list[Value | None]:
    """A bar per dataset that is finished."""
    found = [joined.find(dataset, mode, **asked) for dataset in finished_datasets(joined)]
    return [mean_and_std(runs.summary(metric)) if runs else None for runs in found]


def _curve(runs: Sequence[Runs], setting: str, metric: str) -> Curve:
    points = [(_setting(one, setting), mean_and_std(one.summary(metric))) for one in runs]
    there = sorted((x, *point) for x, point in points if point is not None)
    return [p[0] for p in there], [p[1] for p in there], [p[2] for p in there]


def _setting(one: Runs, name: str) -> Any:
    return {**one.row.split, **one.row.perturbation_settings, **one.row.settings}[name]


def _mean(runs: Runs) -> float:
    summary = runs.summary("accuracy")
    return -1.0 if summary is None else summary.mean


_PICTURES = {
    "table2": _table2,
    "table3": _table3,
    "figure2": _figure2,
    "figure3": _figure3,
    "figure4": _figure4,
    "figure5": map_picture,
    "figure6": map_picture,
    "figure7": loss_picture,
    "figure8": _figure8,
    "figure9": _figure9,
    "noisy-labels": _noisy,
    "sparse-labels": _sparse,
    "unseen": _unseen,
    "additions": _additions,
    "calibration": _calibration,
}
