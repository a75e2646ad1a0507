"""Figure 8: the smallest diffusion rate."""

from gvdn.paper import DATASETS
from gvdn.paper.exhibits import EXHIBITS
from gvdn.paper.verdicts import Judged, all_parts, claim, gap, interval, known, mean, of
from gvdn.reports.account import Study
from gvdn.reports.figures import curves
from gvdn.reports.grids import METRICS, finished_datasets, grids
from gvdn.reports.joined import Joined, Runs
from gvdn.reports.page import Section
from gvdn.reports.pictures import curve
from gvdn.reports.tables import signed
from gvdn.study import Mode


@EXHIBITS.register("figure8")
def section(joined: Joined) -> Section:
    """A panel for each dataset: accuracy after recovery and before the perturbation, and validation accuracy."""
    panels = {}
    for dataset in finished_datasets(joined):
        recovered, fitted = (_runs(joined, dataset, mode) for mode in (Mode.RECOVERED, Mode.EVASION))
        lines = {
            "recovered": curve(recovered, "accuracy"),
            "before the perturbation": curve(recovered, "clean.accuracy"),
            "validation": curve(fitted, "validation"),
        }
        panels[dataset] = {name: line for name, line in lines.items() if line[0]}
    svg = curves(
        panels,
        xlabel=joined.spec.xlabel,
        ylabels=[METRICS["accuracy"][0]] * len(panels),
        title=joined.spec.title,
        marked=("the paper's choice", joined.spec.published["gamma_min"]),
    )
    return Section(joined.spec, grids(joined, shown=()), [(svg, "")])


@claim(10, "Figure 8", "The best γ_min of each dataset is the printed one.")
def printed_rate_is_best(study: Study) -> Judged:
    """By validation accuracy where the records have it, else by recovered accuracy on the victims. Holds if the printed
    value has the highest mean on five graphs; does not hold if on some another beats it with the whole 95 % interval of
    the paired difference."""
    figure = of(study, "figure8")
    parts: list[Judged] = []
    for dataset in DATASETS:
        metric, mine = _compared(figure, dataset)
        by = "recovered accuracy" if metric == "accuracy" else metric
        wanted = figure.spec.published["gamma_min"].get(dataset)
        printed = next((one for one in mine if one.row.setting("gamma_min") == wanted), None)
        if printed is None:
            parts.append((None, f"{dataset}: the printed value was not run"))
            continue
        means = [mean(one, metric) for one in mine]
        best = mine[means.index(max(means))]
        lead = known(gap(f"{dataset}, best and printed", best, printed, metric))
        words = f"printed {wanted}, best {best.row.setting('gamma_min')}"
        words += "" if best is printed else f" ({signed(lead.mean)}{interval(lead)})"
        verdict = True if best is printed else (False if lead.above_zero else None)
        parts.append((verdict, f"{dataset}, by {by}: {words}"))
    return all_parts(parts)


def _compared(figure: Joined, dataset: str) -> tuple[str, list[Runs]]:
    """The metric by which rates are compared, and their runs: validation of the fit, else accuracy after recovery."""
    fitted = [one for one in _runs(figure, dataset, Mode.EVASION) if one.values("validation")]
    if fitted:
        return "validation", fitted
    return "accuracy", [one for one in _runs(figure, dataset, Mode.RECOVERED) if one.records]


def _runs(joined: Joined, dataset: str, mode: Mode) -> list[Runs]:
    return [one for one in joined.runs if one.dataset == dataset and one.mode == mode]
