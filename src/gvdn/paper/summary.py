"""The first screen of the reproduction page: GVDN under two perturbations."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from gvdn.paper import DATASETS, OURS
from gvdn.paper.table2 import COLUMNS
from gvdn.paper.verdicts import Claim
from gvdn.reports.account import Study, remark
from gvdn.reports.comparison import best_of
from gvdn.reports.figures import Value, dot_rows
from gvdn.reports.joined import Runs
from gvdn.reports.statistics import mean_and_std, paired
from gvdn.reports.tables import number
from gvdn.study import Mode

STATES = {"clean": "clean (its snapshot)", "perturbed": "evasion", "recovered": "recovered", "withheld": "withheld"}
"""Column of Table 2 -> what the first screen calls it."""

OTHERS = {"random-connections": "table3", "nettack": "withheld"}
"""Perturbation -> the spec that has the other methods under it."""

BEST_OTHER = "best other, nothing stored"

Measured = tuple[Runs | None, str]
"""Runs and the metric that is read from them."""


def states(study: Study, perturbation: str) -> dict[str, dict[str, Measured]]:
    """What is shown of a perturbation -> dataset -> where it was measured: GVDN's states, and the best other."""
    found: dict[str, dict[str, Measured]] = {}
    for column, title in STATES.items():
        mode, part = COLUMNS[column]
        asked = {"method": OURS, "perturbation": perturbation}
        found[f"GVDN, {title}"] = {
            dataset: (study["table2"].find(dataset, mode, **asked), f"{part}accuracy") for dataset in DATASETS
        }
    found[BEST_OTHER] = {dataset: (_best_other(study, perturbation, dataset), "accuracy") for dataset in DATASETS}
    return found


def picture(study: Study) -> str:
    """A panel for each of the two perturbations: a row for each dataset, a mark for each state."""
    panels: dict[str, dict[str, dict[str, Value]]] = {}
    for perturbation in OTHERS:
        for title, at in states(study, perturbation).items():
            for dataset, (runs, metric) in at.items():
                if runs and (value := mean_and_std(runs.summary(metric))):
                    panels.setdefault(perturbation, {}).setdefault(dataset, {})[title] = value
    return dot_rows(panels, xlabel="accuracy in % on the victims", title="GVDN on five graphs") if panels else ""


def sentences(study: Study, claims: Sequence[Claim]) -> list[str]:
    """How many claims hold, how GVDN fares under each of the two perturbations."""
    verdicts = Counter(claim.verdict for claim in claims)
    counted = ", ".join(f"{verdicts[words]} {told}" for words, told in _TOLD.items())
    runs = len({record.key for joined in study.values() for record in joined.records})
    first = f"The paper's tables and figures were run again, {runs:,} runs: of its {len(claims)} claims {counted}."
    told = [_under(study, perturbation) for perturbation in OTHERS]
    seeds = remark(study["table2"])
    return [first, *filter(None, told), *([f"Table 2. {seeds}"] if seeds else [])]


_TOLD = {"holds": "hold", "does not hold": "do not", "cannot be told": "cannot be told"}


def _under(study: Study, perturbation: str) -> str:
    found = states(study, perturbation)
    means = {title: _mean(list(at.values())) for title, at in found.items()}
    if None in means.values():
        return ""
    clean, evasion, recovered, withheld, other = (number(mean or 0.0) for mean in means.values())
    words = (
        f"Under {perturbation} (means over {len(DATASETS)} graphs) GVDN's accuracy on the victims falls from {clean} "
        f"to {evasion} %. Recovery brings it to {recovered} %, which the stored predictions alone would give too; with "
        f"nothing stored of the victims it comes to {withheld} %. The best other method on each graph, with nothing "
        f"stored, has {other} %"
    )
    better = _better_others(found)
    return words + (f" and is surely better on {', '.join(better)}." if better else " and is surely better on none.")


def _better_others(found: dict[str, dict[str, Measured]]) -> list[str]:
    """Datasets on which the whole interval of the difference to the withheld GVDN lies in favour of the other."""
    better = []
    for dataset, (theirs, _) in found[BEST_OTHER].items():
        ours, _ = found[f"GVDN, {STATES['withheld']}"][dataset]
        pair = paired(theirs.values("accuracy"), ours.values("accuracy")) if theirs and ours else None
        if theirs and pair and pair.difference.above_zero:
            better.append(f"{dataset} ({theirs.row.method})")
    return better


def _best_other(study: Study, perturbation: str, dataset: str) -> Runs | None:
    """The best mean of the other methods in modes that store nothing of the victims."""
    modes, others = (Mode.EVASION, Mode.POISONING, Mode.WITHHELD), study[OTHERS[perturbation]]
    here = [one for one in others.runs if one.dataset == dataset and one.row.perturbation == perturbation]
    return best_of([one for one in here if one.mode in modes and one.row.method not in (OURS, "snapshot")])


def _mean(found: list[Measured]) -> float | None:
    """The mean over the datasets; None where one of them was not measured."""
    means = [summary.mean for runs, metric in found if runs and (summary := runs.summary(metric))]
    return fmean(means) if means and len(means) == len(found) else None
