"""Figure 5: maps of the embeddings around the perturbation."""

from gvdn.paper import DATASETS
from gvdn.paper.verdicts import Judged, all_parts, claim, gap, known, of
from gvdn.reports.account import Study
from gvdn.study import Mode


@claim(15, "Figure 5", "t-SNE: classes separate again after retraining.")
def classes_separate(study: Study) -> Judged:
    """Silhouette of the victims' true classes in the embedding, recovered minus perturbed, paired by seed. Holds if the
    whole 95 % interval lies above 0 on Cora and Citeseer; does not hold if on one of them it lies below 0."""
    figure = of(study, "figure5")
    found = {dataset: figure.find(dataset, Mode.MAPPED) for dataset in DATASETS[:2]}
    metrics = ("separation.recovered", "separation.perturbed")
    gaps = [gap(dataset, runs, runs, *metrics, digits=3) for dataset, runs in found.items()]
    return all_parts([(known(one).positive, str(one)) for one in gaps])
