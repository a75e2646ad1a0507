"""Figures 5 and 6: maps of the embeddings around the perturbation, and over the epochs of the recovery."""

from __future__ import annotations

from gvdn.paper import DATASETS
from gvdn.paper.exhibits import EXHIBITS, Exhibit, folded_grids
from gvdn.paper.verdicts import Judged, Part, all_parts, claim, gap, known, of
from gvdn.reports.account import Study
from gvdn.reports.joined import Joined
from gvdn.reports.maps import interactive_map, map_picture, separation_table
from gvdn.reports.tables import Table
from gvdn.study import Mode

CAPTION = (
    "The first seed. Colour: the true class. Large: a victim; small and pale: another node, at most 400 in a panel. "
    "Cross: misclassified in that state."
)


def tables(joined: Joined) -> list[Table]:
    """The separation of the classes, and the scores folded."""
    return [separation_table(joined), *folded_grids(joined)]


@claim(15, "Figure 5", "t-SNE: classes separate again after retraining.")
def classes_separate(study: Study) -> Judged:
    """Silhouette of the victims' true classes in the embedding, recovered minus perturbed, paired by seed. Holds if the
    whole 95 % interval lies above 0 on Cora and Citeseer; does not hold if on one of them it lies below 0."""
    figure = of(study, "figure5")
    parts: list[Part] = []
    for dataset in DATASETS[:2]:
        runs = figure.find(dataset, Mode.MAPPED)
        lead = gap(dataset, runs, runs, "separation.recovered", "separation.perturbed", digits=3)
        parts.append((known(lead).positive, str(lead)))
    return all_parts(parts)


for _order, _name, _short in ((7, "figure5", "Figure 5"), (8, "figure6", "Figure 6")):
    EXHIBITS.add(_name, Exhibit(_order, _short, tables, map_picture, CAPTION, interactive_map))
